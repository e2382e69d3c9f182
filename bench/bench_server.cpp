// Answers of POST /v1/answer, four at once against the same four one after the other, through the server's own handlers
// and lane (no sockets).
//
//   bench_server MODEL.gguf THREADS [ROUNDS [PASSAGES [METHOD]]]
//
// Prints JSON: for each aggregation, with passages that are new to the server and with passages that it knows (their
// states are kept), the medians of both, their ratio, the ratio of processor time (which a busy machine changes less),
// and whether the answers are the same. "scripted" is a model that waits as one behind a network does.
#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <latch>
#include <nlohmann/json.hpp>
#include <thread>

#include "apps/server/services.h"
#include "apps/server/settings.h"
#include "casemate/core/random.h"
#include "casemate/core/thread_pool.h"
#include "casemate/llm/llama_model.h"
#include "made_up_passages.h"
#include "must.h"
#include "timing.h"

namespace {

using namespace casemate;
using server::Json;

constexpr std::size_t kRequests = 4;

/// A request whose client waits and reads nothing.
class Silent final : public server::Exchange {
 public:
  explicit Silent(std::string body) {
    request_.method = "POST";
    request_.path = "/v1/answer";
    request_.content_type = "application/json";
    request_.body = std::move(body);
    request_.caller.role = server::Role::kAdmin;
  }
  const server::Request& request() const noexcept override { return request_; }
  std::stop_token stop() const noexcept override { return {}; }
  bool send_event(std::string) override { return true; }
  bool streaming() const noexcept override { return false; }

 private:
  server::Request request_;
};

/// Says the same after 20 ms, as a model elsewhere does.
class SlowModel final : public LanguageModel {
 public:
  const ModelInfo& info() const noexcept override { return info_; }
  Capabilities capabilities() const noexcept override { return {}; }
  Result<Generation> generate(const Prompt&, const GenerateOptions&, std::stop_token, const OnText&) override {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    Generation out;
    out.text = UntrustedText("43 metres");
    return out;
  }

 private:
  ModelInfo info_ = [] {
    ModelInfo info;
    info.name = "slow";
    info.backend = "scripted";
    return info;
  }();
};

/// Tokens of a long answer: long texts are asked for to write this many.
constexpr int kLongTokens = 100;

enum class Answers : std::uint8_t { kShort, kLong };

std::string body_of(RandomStream& random, const std::string& method, int passages, Answers answers = Answers::kShort) {
  Json list = Json::array();
  for (int p = 0; p < passages; ++p)
    list.push_back(made_up_passage(random, "The lighthouse of Orvel is 43 metres tall."));
  Json body = {{"question", "How tall is the lighthouse of Orvel?"}, {"passages", list}, {"method", method}};
  if (answers == Answers::kLong) {
    body["question"] = "Describe the lighthouse of Orvel and all that stands around it.";
    body["long"] = true;
    body["max_new_tokens"] = kLongTokens;
  }
  return body.dump();
}

struct Bench {
  explicit Bench(std::unique_ptr<LanguageModel> model) {
    server::EngineParts parts;
    parts.model = std::move(model);
    parts.states = must(PassageStates::create({}));
    parts.pool = &pool;
    engine = must(server::Engine::create(std::move(parts), {*find_policy("off")}));
    services.emplace(server::Services{*engine, metrics, log, settings, nullptr, nullptr, {}, {}});
    server::add_answer_routes(router, *services);
  }

  /// The answers to `bodies` in a lane of `threads`.
  std::vector<std::string> run(const std::vector<std::string>& bodies, int threads) {
    server::WorkQueue lane(threads, bodies.size());
    std::vector<std::string> answers(bodies.size());
    std::latch done(static_cast<std::ptrdiff_t>(bodies.size()));
    const server::Route& route = *router.find("POST", "/v1/answer").route;
    for (std::size_t i = 0; i < bodies.size(); ++i) {
      const auto task = [&, i] {
        Silent exchange(bodies[i]);
        const Json reply = Json::parse(route.handler(exchange).body);
        answers[i] = reply.value("answer", reply.dump());
        done.count_down();
      };
      if (!lane.submit(task, {})) std::exit(3);
    }
    done.wait();
    return answers;
  }

  ThreadPool pool{1};
  server::Metrics metrics;
  server::Log log{std::cerr, server::LogLevel::kError};
  server::LiveSettings settings{server::Settings{}};
  std::unique_ptr<server::Engine> engine;
  std::optional<server::Services> services;
  server::Router router;
};

double processor_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

Json compare(Bench& bench, RandomStream& random, const std::string& method, int passages, bool known, int rounds,
             Answers answers = Answers::kShort) {
  std::vector<double> alone, together, alone_cpu, together_cpu;
  bool same = true;
  const auto bodies = [&] {
    std::vector<std::string> out;
    for (std::size_t i = 0; i < kRequests; ++i) out.push_back(body_of(random, method, passages, answers));
    return out;
  };
  for (int round = 0; round < rounds; ++round) {
    const auto first = bodies();
    const auto second = known ? first : bodies();
    if (known) static_cast<void>(bench.run(first, 1));
    std::vector<std::string> one, four;
    const double begin = processor_seconds();
    alone.push_back(seconds_of([&] { one = bench.run(first, 1); }));
    const double middle = processor_seconds();
    together.push_back(seconds_of([&] { four = bench.run(second, static_cast<int>(kRequests)); }));
    alone_cpu.push_back(middle - begin);
    together_cpu.push_back(processor_seconds() - middle);
    if (known) same = same && one == four;
  }
  Json out = {{"one_after_the_other_seconds", median(alone)},
              {"together_seconds", median(together)},
              {"ratio", median(alone) / median(together)},
              {"processor_ratio", median(alone_cpu) / median(together_cpu)}};
  if (known) out["same_answers"] = same;
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::cerr << "usage: bench_server MODEL.gguf THREADS [ROUNDS [PASSAGES [METHOD]]]\n";
    return 2;
  }
  LlamaOptions load;
  load.threads = std::atoi(argv[2]);
  const int rounds = argc > 3 ? std::max(1, std::atoi(argv[3])) : 3;
  const int passages = argc > 4 ? std::max(1, std::atoi(argv[4])) : 10;
  Json out = {{"threads", load.threads}, {"rounds", rounds}, {"requests", kRequests}, {"passages", passages}};
  RandomStream random(11, "bench server");
  {
    Bench scripted(std::make_unique<SlowModel>());
    out["scripted"] = compare(scripted, random, "keyword", passages, false, rounds);
  }
  Bench bench(must(load_llama_model(argv[1], load)));
  static_cast<void>(bench.run({body_of(random, "keyword", 2)}, 1));  // the instruction is computed once
  const std::string only = argc > 5 ? argv[5] : "";
  for (const char* method : {"keyword", "decoding"}) {
    if (!only.empty() && only != method) continue;
    out[method] = {{"new_passages", compare(bench, random, method, passages, false, rounds)},
                   {"known_passages", compare(bench, random, method, passages, true, rounds)},
                   {"long_known_passages", compare(bench, random, method, passages, true, rounds, Answers::kLong)}};
  }
  std::cout << out.dump(1) << '\n';
  return 0;
}
