// Times robust answers against one prompt with all passages, on made-up passages of some 130 tokens.
//
//   bench_robust MODEL.gguf THREADS [ROUNDS]
//
// Prints JSON: for each aggregation the medians of a cold answer, one with kept states of passages, its certificates,
// their ratios, the tokens computed, and what `verify` takes. Runs alternate after one of each to warm up. A cold
// answer has new passages each time, so nothing of them can be kept; instruction and examples stay computed between
// answers, for both sides, as in a service.
#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>

#include "casemate/certify/certify_answer.h"
#include "casemate/certify/certify_question.h"
#include "casemate/certify/make_certificate.h"
#include "casemate/certify/verify.h"
#include "casemate/generate/robust_rag.h"
#include "casemate/llm/llama_model.h"
#include "made_up_passages.h"
#include "must.h"
#include "timing.h"

namespace {

using namespace casemate;

/// Ten passages that all name the height, among sentences that differ each time.
std::vector<PromptPassage> passages_of(RandomStream& random) {
  std::vector<PromptPassage> out;
  for (int p = 0; p < 10; ++p) {
    const std::string text = made_up_passage(random, "The lighthouse of Orvel is 43 metres tall.");
    out.push_back({UntrustedText("Orvel"), UntrustedText(text)});
  }
  return out;
}

bool good = true;

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::cerr << "usage: bench_robust MODEL.gguf THREADS [ROUNDS]\n";
    return 2;
  }
  const int rounds = argc > 3 ? std::max(1, std::atoi(argv[3])) : 3;
  LlamaOptions load;
  load.threads = std::atoi(argv[2]);
  const auto model = must(load_llama_model(argv[1], load));
  const auto extractor = must(KeywordExtractor::create());
  Question question;
  question.text = UntrustedText("How tall is the lighthouse of Orvel?");
  const SigningKey key = SigningKey::generate();
  const ScoreAnswer score = [](const UntrustedText& answer) -> Result<double> {
    return answer.bytes().find("43") != std::string::npos ? 1.0 : 0.0;
  };
  nlohmann::ordered_json out = {{"threads", load.threads}, {"rounds", rounds}};
  RandomStream random(7, "bench robust");
  for (const Aggregation method : {Aggregation::kKeyword, Aggregation::kDecoding}) {
    std::vector<double> vanilla, cold, warm, certify, live, verify;
    std::vector<double> vanilla_tokens, cold_tokens, warm_tokens;
    std::size_t bytes = 0;
    std::int64_t k_prime = 0;
    bool same = true;
    for (int round = -1; round < rounds; ++round) {
      RobustOptions options = robust_options(method, question.task);
      options.keywords = keywords_by(*extractor);
      const auto passages = passages_of(random);
      const auto states = must(PassageStates::create({}));
      GreedyAnswer plain;
      RobustAnswer first, again;
      // Certificates are compared with the inference that they are about: states kept, trace on.
      const double one = seconds_of([&] {
        plain = must(answer_prompt(*model, all_passages_prompt(question, passages), options.max_new_tokens));
      });
      options.states = states.get();
      const double two = seconds_of([&] { first = must(answer_robustly(*model, question, passages, options)); });
      const double three = seconds_of([&] { again = must(answer_robustly(*model, question, passages, options)); });
      const double four = seconds_of(
          [&] { static_cast<void>(must(certify_question(*model, question, passages, options, {}, score))); });
      options.trace = true;
      const auto traced = must(answer_robustly(*model, question, passages, options));
      AnswerCertificate certificate;
      const double five =
          seconds_of([&] { certificate = must(certify_answer(*model, question, passages, options, traced, {})); });
      double six = 0;
      if (certificate.certificate) {
        const std::string file = must(write_certificate(*certificate.certificate, key));
        bytes = file.size();
        k_prime = certificate.k_prime;
        six = seconds_of([&] { good = good && must(verify_certificate(file, {key.public_key()})).holds(); });
      }
      same = same && first.text == again.text && first.text == traced.text;
      if (round < 0) continue;
      vanilla.push_back(one);
      cold.push_back(two);
      warm.push_back(three);
      certify.push_back(four);
      live.push_back(five);
      if (certificate.certificate) verify.push_back(six);
      vanilla_tokens.push_back(static_cast<double>(plain.usage.decoded_tokens));
      cold_tokens.push_back(static_cast<double>(first.usage.decoded_tokens));
      warm_tokens.push_back(static_cast<double>(again.usage.decoded_tokens));
    }
    // A certificate needs the groups' answers once more, or their probabilities along another path.
    out[std::string(aggregation_name(method))] = {
        {"seconds",
         {{"vanilla", median(vanilla)},
          {"cold", median(cold)},
          {"warm", median(warm)},
          {"certify_data_set", median(certify)},
          {"certify_live", median(live)},
          {"verify", median(verify)}}},
        {"tokens", {{"vanilla", median(vanilla_tokens)}, {"cold", median(cold_tokens)}, {"warm", median(warm_tokens)}}},
        {"cold_to_vanilla", median(cold) / median(vanilla)},
        {"warm_to_vanilla", median(warm) / median(vanilla)},
        {"certify_to_inference", median(certify) / median(cold)},
        {"certify_to_warm_inference", median(certify) / median(warm)},
        {"certificate_bytes", bytes},
        {"k_prime", k_prime},
        {"cached_equals_uncached", same},
        {"certificates_hold", good}};
  }
  std::cout << out.dump(1) << '\n';
  return good ? 0 : 1;
}
