// Which handler a request goes to, and what it must have for that.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "message.h"

namespace casemate::server {

/// Where a handler runs.
enum class Lane : std::uint8_t {
  kNow,    ///< where bytes are moved: it must not wait for anything
  kQuery,  ///< a few threads: retrieval, screening, embeddings
  kModel,  ///< one thread: whatever asks the language model, one request after the other
};

/// Who may come in.
enum class Access : std::uint8_t {
  kOpen,          ///< anyone
  kLocalOrKey,    ///< anyone on the loopback address, else any key
  kLocalOrAdmin,  ///< anyone on the loopback address, else an administrator's key
  kReader,
  kWriter,
  kAdmin,
};

using Handler = std::function<Response(Exchange& exchange)>;

struct Route {
  std::string method;
  std::string path;  ///< may end in "/{id}", which takes the rest of the path, slashes too
  Access access = Access::kReader;
  Lane lane = Lane::kQuery;
  std::uint64_t max_body_bytes = 0;
  Handler handler;
};

/// The table of routes. Filled once, then only read.
class Router {
 public:
  void add(Route route) { routes_.push_back(std::move(route)); }

  struct Match {
    const Route* route = nullptr;        ///< null: see `allowed`
    std::string argument{};              ///< what stands for {id}, decoded
    std::vector<std::string> allowed{};  ///< methods that the path has; none: there is no such path
  };
  [[nodiscard]] Match find(std::string_view method, std::string_view path) const;
  [[nodiscard]] const std::vector<Route>& routes() const noexcept { return routes_; }

 private:
  std::vector<Route> routes_;
};

/// `target` of a request line; nothing where it is malformed. The path stays as it was sent: "/%6detrics" is another
/// one than "/metrics", so that rules of a proxy about names hold here too.
struct Target {
  std::string path;
  std::string query;
};
[[nodiscard]] std::optional<Target> parse_target(std::string_view target);
/// The value of `name` in a query ("limit=10&after=x"), decoded; nothing where it is absent or malformed.
[[nodiscard]] std::optional<std::string> query_value(std::string_view query, std::string_view name);

}  // namespace casemate::server
