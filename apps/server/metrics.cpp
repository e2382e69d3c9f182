#include "metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

namespace casemate::server {
namespace {

using prometheus::BuildCounter;
using prometheus::BuildGauge;
using prometheus::BuildHistogram;
using prometheus::Counter;
using prometheus::Family;
using prometheus::Gauge;
using prometheus::Histogram;

const Histogram::BucketBoundaries& seconds_buckets() {
  static const Histogram::BucketBoundaries buckets = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25,
                                                      0.5,   1,      2.5,   5,    10,    30,   60,  120};
  return buckets;
}

}  // namespace

struct Metrics::State {
  prometheus::Registry registry;
  Family<Counter>& requests =
      BuildCounter().Name("casemate_requests_total").Help("Requests by route and status").Register(registry);
  Family<Histogram>& seconds = BuildHistogram()
                                   .Name("casemate_request_seconds")
                                   .Help("Time from a request's first byte to its last answer byte")
                                   .Register(registry);
  Family<Counter>& refused =
      BuildCounter().Name("casemate_refused_total").Help("Requests refused before their work").Register(registry);
  Gauge& connections = BuildGauge().Name("casemate_connections").Help("Open connections").Register(registry).Add({});
  Family<Counter>& tokens =
      BuildCounter().Name("casemate_model_tokens_total").Help("Tokens of the language model").Register(registry);
  Family<Counter>& answers =
      BuildCounter().Name("casemate_answers_total").Help("Answers, and which are certified").Register(registry);
  Family<Counter>& verdicts = BuildCounter()
                                  .Name("casemate_verdicts_total")
                                  .Help("Verdicts about passages by stage and decision")
                                  .Register(registry);
  Family<Histogram>& stage_seconds =
      BuildHistogram().Name("casemate_stage_seconds").Help("Time of each stage of a query").Register(registry);
  Family<Counter>& degraded = BuildCounter()
                                  .Name("casemate_degraded_total")
                                  .Help("Queries that went on without a stage that could not run")
                                  .Register(registry);
  Family<Counter>& ingested =
      BuildCounter().Name("casemate_ingested_total").Help("Documents and passages stored").Register(registry);
  Family<Counter>& incidents = BuildCounter()
                                   .Name("casemate_guard_incidents_total")
                                   .Help("What answers reproduced of passages, by kind")
                                   .Register(registry);
  Family<Counter>& withheld = BuildCounter()
                                  .Name("casemate_withheld_answers_total")
                                  .Help("Answers that the output guard ended or took something out of")
                                  .Register(registry);
  Family<Counter>& spans = BuildCounter()
                               .Name("casemate_spans_total")
                               .Help("Spans for the collector, by what became of them")
                               .Register(registry);
  Family<Gauge>& queue = BuildGauge().Name("casemate_queue").Help("Requests that wait or run").Register(registry);
};

Metrics::Metrics() : state_(std::make_unique<State>()) {}
Metrics::~Metrics() = default;

void Metrics::request(std::string_view route, unsigned status, double seconds) {
  const std::string name(route);
  state_->requests.Add({{"route", name}, {"status", std::to_string(status)}}).Increment();
  state_->seconds.Add({{"route", name}}, seconds_buckets()).Observe(seconds);
}

void Metrics::refused(std::string_view reason) { state_->refused.Add({{"reason", std::string(reason)}}).Increment(); }

void Metrics::connections(int change) { state_->connections.Increment(change); }

void Metrics::tokens(std::size_t prompt, std::size_t generated) {
  state_->tokens.Add({{"kind", "prompt"}}).Increment(static_cast<double>(prompt));
  state_->tokens.Add({{"kind", "generated"}}).Increment(static_cast<double>(generated));
}

void Metrics::answer(bool certificate_asked, bool certified) {
  const char* kind = certified ? "certified" : certificate_asked ? "not_certified" : "plain";
  state_->answers.Add({{"kind", kind}}).Increment();
}

void Metrics::evidence(const Evidence& evidence) {
  note_stages(evidence);
  for (const StageEvidence& stage : evidence.stages) {
    for (const Verdict& verdict : stage.verdicts) {
      state_->verdicts.Add({{"stage", stage.stage}, {"decision", std::string(decision_name(verdict.decision))}})
          .Increment();
    }
  }
}

void Metrics::note_stages(const Evidence& evidence) {
  for (const StageTime& each : evidence.times)
    state_->stage_seconds.Add({{"stage", each.stage}}, seconds_buckets()).Observe(each.seconds);
  for (const DegradedStage& each : evidence.degraded) state_->degraded.Add({{"stage", each.stage}}).Increment();
  if (evidence.guard) note_guard(*evidence.guard);
  if (!evidence.generation) return;
  state_->tokens.Add({{"kind", "reused"}}).Increment(static_cast<double>(evidence.generation->reused_tokens));
}

void Metrics::note_guard(const GuardReport& report) {
  for (const GuardIncident& each : report.incidents)
    state_->incidents.Add({{"kind", std::string(incident_kind_name(each.kind))}}).Increment();
  if (report.ended) state_->withheld.Add({{"how", "ended"}}).Increment();
  if (report.redacted > 0) state_->withheld.Add({{"how", "redacted"}}).Increment();
}

void Metrics::spans(std::string_view outcome, std::size_t count) {
  state_->spans.Add({{"outcome", std::string(outcome)}}).Increment(static_cast<double>(count));
}

void Metrics::ingested(std::uint64_t documents, std::uint64_t passages) {
  state_->ingested.Add({{"kind", "documents"}}).Increment(static_cast<double>(documents));
  state_->ingested.Add({{"kind", "passages"}}).Increment(static_cast<double>(passages));
}

std::string Metrics::text(const std::function<Queue(std::string_view name)>& queue) const {
  for (const char* name : {"query", "model"}) {
    const Queue now = queue(name);
    state_->queue.Add({{"queue", name}, {"state", "waiting"}}).Set(now.waiting);
    state_->queue.Add({{"queue", name}, {"state", "running"}}).Set(now.running);
  }
  return prometheus::TextSerializer().Serialize(state_->registry.Collect());
}

}  // namespace casemate::server
