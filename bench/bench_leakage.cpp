// Times keywords and facts against what they stand beside.
//
//   bench_leakage GENERATOR.gguf BACKBONE.gguf THREADS PAIRS.tsv [ROUNDS] [--memory]
//
// PAIRS.tsv has a question, a tab and a passage a line, neighbours being about one subject: what a perturbation costs
// depends on where in the context its word stands, so sentences that come again and again (as made-up ones do) would
// cost more than texts do. The question asked is the middle passage's.
//
// Prints JSON: keywords over some 1,000 tokens of context against one forward pass of the backbone over the same prompt
// plus the draft; a whole kfs-fact answer against an undefended one; and with --memory what keeping the attention of a
// 4,000-token prompt takes, in bytes kept and in the growth of the process. Medians; one round of each warms up. Each
// round has new passages, so nothing of them is kept.
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "casemate/generate/vanilla.h"
#include "casemate/llm/llama_model.h"
#include "casemate/sanitize/attention_rollout.h"
#include "casemate/sanitize/sanitizers.h"
#include "must.h"
#include "timing.h"

namespace {

using namespace casemate;

struct Asked {
  UntrustedText question;
  std::vector<ContextPassage> passages;
};

/// Passages of a file, each given out once.
class Pairs {
 public:
  explicit Pairs(const char* path) {
    std::ifstream in(path);
    for (std::string line; std::getline(in, line);) {
      const std::size_t tab = line.find('\t');
      if (tab != std::string::npos) pairs_.emplace_back(line.substr(0, tab), line.substr(tab + 1));
    }
  }

  Asked next(std::size_t count) {
    if (at_ + count > pairs_.size()) {
      std::cerr << "bench_leakage: " << pairs_.size() << " pairs are too few for so many rounds\n";
      std::exit(2);
    }
    Asked out{UntrustedText(pairs_[at_ + count / 2].first), {}};
    for (std::size_t p = 0; p < count; ++p)
      out.passages.push_back({UntrustedText(), UntrustedText(pairs_[at_++].second)});
    return out;
  }

 private:
  std::vector<std::pair<std::string, std::string>> pairs_;
  std::size_t at_ = 0;
};

std::vector<PromptPassage> shown(std::span<const ContextPassage> passages) {
  std::vector<PromptPassage> out;
  for (const ContextPassage& each : passages) out.push_back({each.title, each.text});
  return out;
}

std::vector<PromptPassage> shown(std::span<const SanitizedPassage> passages) {
  std::vector<PromptPassage> out;
  for (const SanitizedPassage& each : passages) out.push_back({each.title, each.text});
  return out;
}

/// Largest resident size of this process so far, in bytes.
double peak_bytes() {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line)) {
    if (line.rfind("VmHWM:", 0) == 0) return 1024.0 * std::atof(line.c_str() + 6);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    std::cerr << "usage: bench_leakage GENERATOR.gguf BACKBONE.gguf THREADS PAIRS.tsv [ROUNDS] [--memory]\n";
    return 2;
  }
  const int rounds = argc > 5 ? std::max(1, std::atoi(argv[5])) : 3;
  const bool memory = std::string(argv[argc - 1]) == "--memory";
  LlamaOptions load;
  load.threads = std::atoi(argv[3]);
  load.hash_file = false;
  load.context_tokens = 4352;
  const auto backbone = must(load_llama_model(argv[2], load));
  const auto tagger = must(KeywordExtractor::create());
  Pairs pairs(argv[4]);
  nlohmann::ordered_json out = {{"threads", load.threads}, {"rounds", rounds}};
  GenerateOptions draft_options;
  draft_options.max_new_tokens = ApOptions().max_draft_tokens;
  draft_options.stop = {"\n"};
  if (memory) {
    const Asked asked = pairs.next(60);
    auto ids = must(backbone->tokenize_prompt(ap_prompt(asked.question, asked.passages))).ids;
    ids.resize(std::min<std::size_t>(ids.size(), 4000));
    static_cast<void>(must(backbone->generate_tokens(ids, draft_options)));
    const double before = peak_bytes();
    const auto made = must(generate_and_capture(*backbone, ids, draft_options));
    out["memory"] = {{"tokens", ids.size()},
                     {"attention_bytes", made.attention.bytes()},
                     {"peak_growth_bytes", peak_bytes() - before}};
    std::cout << out.dump(1) << '\n';
    return 0;
  }
  const auto generator = must(load_llama_model(argv[1], load));
  const auto kfs = must(create_sanitizer({"kfs-fact", "{}"}, {generator.get(), backbone.get()}));
  std::vector<double> tokens, forward, draft, attention, keywords, vanilla, facts;
  for (int round = -1; round < rounds; ++round) {
    // The same context all along, and another prompt in between, so that nothing of it is kept.
    const Asked asked = pairs.next(8);
    const Asked other = pairs.next(1);
    const auto forget = [&](LanguageModel& model) {
      static_cast<void>(must(model.next_token_log_probabilities(
          must(model.tokenize_prompt(ap_prompt(other.question, other.passages))).ids)));
    };
    const auto ids = must(backbone->tokenize_prompt(ap_prompt(asked.question, asked.passages))).ids;
    forget(*backbone);
    const double one = seconds_of([&] { static_cast<void>(must(backbone->next_token_log_probabilities(ids))); });
    const double two = seconds_of([&] { static_cast<void>(must(backbone->generate_tokens(ids, draft_options))); });
    forget(*backbone);
    const double seen = seconds_of([&] {
      static_cast<void>(must(
          find_ap_keywords(*backbone, *tagger, asked.question, asked.passages, {.steps = ApSteps::kAttentionOnly})));
    });
    forget(*backbone);
    const double three = seconds_of(
        [&] { static_cast<void>(must(find_ap_keywords(*backbone, *tagger, asked.question, asked.passages, {}))); });
    const Asked five_passages = pairs.next(5);
    forget(*generator);
    const double four = seconds_of([&] {
      static_cast<void>(must(answer_vanilla(*generator, five_passages.question, shown(five_passages.passages), {})));
    });
    forget(*generator);
    forget(*backbone);
    const double five = seconds_of([&] {
      const auto context = must(kfs->sanitize(five_passages.question, five_passages.passages));
      if (context.passages.empty()) return;
      static_cast<void>(must(answer_vanilla(*generator, five_passages.question, shown(context.passages), {})));
    });
    if (round < 0) continue;
    tokens.push_back(static_cast<double>(ids.size()));
    forward.push_back(one);
    draft.push_back(two);
    attention.push_back(seen);
    keywords.push_back(three);
    vanilla.push_back(four);
    facts.push_back(five);
  }
  out["tokens"] = median(tokens);
  out["seconds"] = {
      {"forward", median(forward)},   {"draft", median(draft)},     {"keywords_by_attention_alone", median(attention)},
      {"keywords", median(keywords)}, {"vanilla", median(vanilla)}, {"kfs_fact", median(facts)}};
  out["keywords_to_forward_and_draft"] = median(keywords) / (median(forward) + median(draft));
  out["kfs_fact_to_vanilla"] = median(facts) / median(vanilla);
  std::cout << out.dump(1) << '\n';
  return 0;
}
