// tests/models/hub_server.h
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace casemate::test {

/// A key and certificate for 127.0.0.1 and localhost, made by the openssl program in `folder`.
struct Certificate {
  std::string key_file;
  std::string file;
};
[[nodiscard]] Certificate make_certificate(const std::string& folder);

/// What the server does with one path.
struct Page {
  std::string body = {};
  int status = 200;
  std::string location = {};                      ///< of a redirect
  bool ignore_range = false;                      ///< always send all
  bool chunked = false;                           ///< no Content-Length
  std::vector<std::size_t> drop_after = {};       ///< the i-th answer breaks off after this many bytes of its body
  std::size_t stall_after = std::string::npos;    ///< sends so much, then nothing until the client goes
  std::optional<std::string> content_range = {};  ///< instead of the true one
};

/// A hub on 127.0.0.1 that speaks TLS, and misbehaves as told. One connection after the other, in a thread of its own.
class HubServer {
 public:
  HubServer(const Certificate& certificate, std::map<std::string, Page> pages);
  ~HubServer();
  HubServer(const HubServer&) = delete;
  HubServer& operator=(const HubServer&) = delete;

  [[nodiscard]] std::string url(const std::string& host = "127.0.0.1") const;
  /// "PATH RANGE" of each request so far.
  [[nodiscard]] std::vector<std::string> requests() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace casemate::test
