// A server on 127.0.0.1 that sends scripted bytes, so that tests can send what no decent server would.
#pragma once

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <boost/asio.hpp>
#include <boost/asio/ssl.hpp>
#include <chrono>
#include <cstdio>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace casemate::test {

/// What one connection gets: pieces of bytes, a pause before each, then the connection closes.
struct ScriptedReply {
  std::vector<std::string> pieces;
  std::chrono::milliseconds pause{0};
};

inline std::string http_reply(int status, const std::string& body, const std::string& headers = {}) {
  return "HTTP/1.1 " + std::to_string(status) +
         " X\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" + headers +
         "\r\n" + body;
}

/// Writes a self-signed certificate for `host` and its key.
inline void write_certificate(const std::string& host, const std::string& certificate_path,
                              const std::string& key_path) {
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(EVP_EC_gen("P-256"), &EVP_PKEY_free);
  const std::unique_ptr<X509, decltype(&X509_free)> certificate(X509_new(), &X509_free);
  X509_set_version(certificate.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -3600);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 3600);
  X509_set_pubkey(certificate.get(), key.get());
  X509_NAME* name = X509_get_subject_name(certificate.get());
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>(host.c_str()), -1, -1, 0);
  X509_set_issuer_name(certificate.get(), name);
  const std::unique_ptr<X509_EXTENSION, decltype(&X509_EXTENSION_free)> alternative(
      X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, ("DNS:" + host).c_str()), &X509_EXTENSION_free);
  X509_add_ext(certificate.get(), alternative.get(), -1);
  X509_sign(certificate.get(), key.get(), EVP_sha256());
  const auto save = [](const std::string& path, const auto& write) {
    if (std::FILE* file = std::fopen(path.c_str(), "wb")) {
      write(file);
      std::fclose(file);
    }
  };
  save(certificate_path, [&](std::FILE* file) { PEM_write_X509(file, certificate.get()); });
  save(key_path,
       [&](std::FILE* file) { PEM_write_PrivateKey(file, key.get(), nullptr, nullptr, 0, nullptr, nullptr); });
}

class ScriptedServer {
 public:
  /// The i-th connection gets the i-th reply, later ones the last. With certificate and key it speaks TLS.
  explicit ScriptedServer(std::vector<ScriptedReply> replies, const std::string& certificate = {},
                          const std::string& key = {})
      : replies_(std::move(replies)), tls_(!certificate.empty()) {
    if (tls_) {
      context_.use_certificate_chain_file(certificate);
      context_.use_private_key_file(key, boost::asio::ssl::context::pem);
    }
    thread_ = std::jthread([this](const std::stop_token& stop) { serve(stop); });
  }
  ~ScriptedServer() {
    thread_.request_stop();
    boost::system::error_code ignored;
    boost::asio::ip::tcp::socket wake(io_);
    wake.connect({boost::asio::ip::address_v4::loopback(), port_}, ignored);
    thread_.join();
  }
  [[nodiscard]] std::string url(const std::string& host = "127.0.0.1") const {
    return (tls_ ? "https://" : "http://") + host + ":" + std::to_string(port_) + "/v1";
  }
  [[nodiscard]] std::vector<std::string> requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }

 private:
  void serve(const std::stop_token& stop) {
    for (std::size_t i = 0; !stop.stop_requested(); ++i) {
      boost::system::error_code code;
      boost::asio::ip::tcp::socket socket(io_);
      acceptor_.accept(socket, code);
      if (code || stop.stop_requested()) continue;
      const ScriptedReply& reply = replies_[std::min(i, replies_.size() - 1)];
      if (!tls_) {
        talk(socket, reply, stop);
        continue;
      }
      boost::asio::ssl::stream<boost::asio::ip::tcp::socket&> secure(socket, context_);
      secure.handshake(boost::asio::ssl::stream_base::server, code);
      if (code) continue;
      talk(secure, reply, stop);
      secure.shutdown(code);
    }
  }

  template <typename Stream>
  void talk(Stream& stream, const ScriptedReply& reply, const std::stop_token& stop) {
    boost::system::error_code code;
    std::string request;
    const std::size_t header = boost::asio::read_until(stream, boost::asio::dynamic_buffer(request), "\r\n\r\n", code);
    if (code) return;
    const std::size_t field = request.find("Content-Length: ");
    const std::size_t length = field < header ? std::stoul(request.substr(field + 16)) : 0;
    if (request.size() < header + length) {
      boost::asio::read(stream, boost::asio::dynamic_buffer(request),
                        boost::asio::transfer_exactly(header + length - request.size()), code);
    }
    {
      const std::lock_guard lock(mutex_);
      requests_.push_back(request);
    }
    for (const std::string& piece : reply.pieces) {
      for (auto left = reply.pause; left.count() > 0 && !stop.stop_requested(); left -= std::chrono::milliseconds(10)) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      }
      boost::asio::write(stream, boost::asio::buffer(piece), code);
      if (code) return;
    }
  }

  std::vector<ScriptedReply> replies_;
  bool tls_;
  boost::asio::io_context io_;
  boost::asio::ssl::context context_{boost::asio::ssl::context::tls_server};
  boost::asio::ip::tcp::acceptor acceptor_{io_, {boost::asio::ip::address_v4::loopback(), 0}};
  boost::asio::ip::port_type port_ = acceptor_.local_endpoint().port();
  mutable std::mutex mutex_;
  std::vector<std::string> requests_;
  std::jthread thread_;
};

}  // namespace casemate::test
