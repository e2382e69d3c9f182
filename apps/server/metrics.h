// What Prometheus can ask. Labels come from fixed tables (routes, policies, stages), never from requests.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "casemate/pipeline/evidence.h"

namespace casemate::server {

/// Thread-safe.
class Metrics {
 public:
  Metrics();
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  void request(std::string_view route, unsigned status, double seconds);
  void refused(std::string_view reason);  ///< "queue_full", "rate", "key", "size", "malformed", "connections"
  void connections(int change);           ///< +1, -1
  void tokens(std::size_t prompt, std::size_t generated);
  void answer(bool certificate_asked, bool certified);
  /// Verdicts by stage and decision, what stages took, which could not run, tokens that were reused, what the output
  /// guard found and withheld.
  void evidence(const Evidence& evidence);
  void ingested(std::uint64_t documents, std::uint64_t passages);
  void spans(std::string_view outcome, std::size_t count);  ///< "exported", "dropped", "failed"

  struct Queue {
    double waiting = 0;
    double running = 0;
  };
  /// Text exposition format 0.0.4. `queue` is asked for "query" and "model".
  [[nodiscard]] std::string text(const std::function<Queue(std::string_view name)>& queue) const;

 private:
  void note_stages(const Evidence& evidence);
  void note_guard(const GuardReport& report);

  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace casemate::server
