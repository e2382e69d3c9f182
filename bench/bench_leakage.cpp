// Times keywords and facts against what they stand beside, on made-up passages.
//
//   bench_leakage GENERATOR.gguf BACKBONE.gguf THREADS [ROUNDS] [--memory]
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
#include "made_up_passages.h"
#include "must.h"
#include "timing.h"

namespace {

using namespace casemate;

std::vector<ContextPassage> passages_of(RandomStream& random, std::size_t count) {
  std::vector<ContextPassage> out;
  for (std::size_t p = 0; p < count; ++p) {
    // The one that matters stands in the middle, so that what a deletion leaves to compute is the mean case.
    const char* fact = p == count / 2 ? "The lighthouse of Orvel was designed by Karla Voss." : "";
    out.push_back({UntrustedText(), UntrustedText(made_up_passage(random, fact))});
  }
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
  if (argc < 4) {
    std::cerr << "usage: bench_leakage GENERATOR.gguf BACKBONE.gguf THREADS [ROUNDS] [--memory]\n";
    return 2;
  }
  const int rounds = argc > 4 ? std::max(1, std::atoi(argv[4])) : 3;
  const bool memory = std::string(argv[argc - 1]) == "--memory";
  LlamaOptions load;
  load.threads = std::atoi(argv[3]);
  load.hash_file = false;
  load.context_tokens = 4352;
  const auto backbone = must(load_llama_model(argv[2], load));
  const auto tagger = must(KeywordExtractor::create());
  const UntrustedText question("Who designed the lighthouse of Orvel?");
  RandomStream random(7, "bench leakage");
  nlohmann::ordered_json out = {{"threads", load.threads}, {"rounds", rounds}};
  if (memory) {
    const auto prompt = ap_prompt(question, passages_of(random, 60));
    auto ids = must(backbone->tokenize_prompt(prompt)).ids;
    ids.resize(std::min<std::size_t>(ids.size(), 4000));
    static_cast<void>(must(backbone->next_token_log_probabilities(ids)));
    const double before = peak_bytes();
    const auto attention = must(capture_attention(*backbone, ids));
    out["memory"] = {
        {"tokens", ids.size()}, {"attention_bytes", attention.bytes()}, {"peak_growth_bytes", peak_bytes() - before}};
    std::cout << out.dump(1) << '\n';
    return 0;
  }
  const auto generator = must(load_llama_model(argv[1], load));
  const auto kfs = must(create_sanitizer({"kfs-fact", "{}"}, {generator.get(), backbone.get()}));
  std::vector<double> forward, draft, keywords, vanilla, facts;
  for (int round = -1; round < rounds; ++round) {
    const auto first = passages_of(random, 9);
    const auto ids = must(backbone->tokenize_prompt(ap_prompt(question, first))).ids;
    const double one = seconds_of([&] { static_cast<void>(must(backbone->next_token_log_probabilities(ids))); });
    GenerateOptions options;
    options.max_new_tokens = ApOptions().max_draft_tokens;
    options.stop = {"\n"};
    const double two = seconds_of([&] { static_cast<void>(must(backbone->generate_tokens(ids, options))); });
    const auto second = passages_of(random, 9);
    const double three =
        seconds_of([&] { static_cast<void>(must(find_ap_keywords(*backbone, *tagger, question, second, {}))); });
    const auto third = passages_of(random, 5);
    std::vector<PromptPassage> plain;
    for (const ContextPassage& each : third) plain.push_back({each.title, each.text});
    const double four = seconds_of([&] { static_cast<void>(must(answer_vanilla(*generator, question, plain, {}))); });
    const auto fourth = passages_of(random, 5);
    const double five = seconds_of([&] {
      const auto context = must(kfs->sanitize(question, fourth));
      std::vector<PromptPassage> shown;
      for (const SanitizedPassage& each : context.passages) shown.push_back({each.title, each.text});
      if (!shown.empty()) static_cast<void>(must(answer_vanilla(*generator, question, shown, {})));
    });
    out["tokens"] = ids.size();
    if (round < 0) continue;
    forward.push_back(one);
    draft.push_back(two);
    keywords.push_back(three);
    vanilla.push_back(four);
    facts.push_back(five);
  }
  out["seconds"] = {{"forward", median(forward)},
                    {"draft", median(draft)},
                    {"keywords", median(keywords)},
                    {"vanilla", median(vanilla)},
                    {"kfs_fact", median(facts)}};
  out["keywords_to_forward_and_draft"] = median(keywords) / (median(forward) + median(draft));
  out["kfs_fact_to_vanilla"] = median(facts) / median(vanilla);
  std::cout << out.dump(1) << '\n';
  return 0;
}
