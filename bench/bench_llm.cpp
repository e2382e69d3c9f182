// Speed of a GGUF model in process: prompts, decoding, batches, and one isolated-passages query against one prompt.
//   bench_llm MODEL.gguf [threads]
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "casemate/llm/llama_model.h"
#include "timing.h"

namespace {

using namespace casemate;

template <typename T>
T take(Result<T> result) {
  if (result.ok()) return std::move(result).value();
  std::fprintf(stderr, "%s\n", result.error().message.c_str());
  std::exit(1);
}

std::string passage(int number) {
  std::string text = "\nPassage: ";
  for (int i = 0; i < 5; ++i) {
    text += "Harbour " + std::to_string(number * 10 + i) + " was built in 16" + std::to_string(10 + number) +
            " by engineers who liked granite and paid their workers in salt. ";
  }
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return std::fprintf(stderr, "bench_llm MODEL.gguf [threads]\n"), 2;
  LlamaOptions options;
  options.hash_file = false;
  options.threads = argc > 2 ? std::atoi(argv[2]) : 0;
  const auto model = take(load_llama_model(argv[1], options));
  const auto ids = [&](const std::string& text) { return take(model->tokenize(text, SpecialTokens::kAsText)).ids; };
  constexpr int kPassages = 10;
  constexpr int kNewTokens = 20;

  std::string all;
  for (int i = 0; i < kPassages; ++i) all += passage(i);
  std::vector<TokenId> prompt = ids(all);
  take(model->next_token_log_probabilities(ids("warm up the model")));
  const double prefill = seconds_of([&] { take(model->next_token_log_probabilities(prompt)); });
  std::printf("prompt: %zu tokens, %.0f tokens/s\n", prompt.size(), static_cast<double>(prompt.size()) / prefill);

  GenerateOptions greedy;
  greedy.max_new_tokens = 64;
  std::size_t generated = 0;
  const auto story = ids("Once upon a time there was a keeper of a lighthouse who");
  const double decode = seconds_of([&] { generated = take(model->generate_tokens(story, greedy)).generated_tokens; });
  std::printf("decoding: %zu tokens, %.1f tokens/s\n", generated, static_cast<double>(generated) / decode);

  std::size_t rows = 0;
  const double attention = seconds_of([&] {
    const auto status = model->attention(prompt, [&](const AttentionBlock& block) -> Status {
      rows += block.rows;
      return {};
    });
    if (!status.ok()) std::exit(1);
  });
  std::printf("attention: %.2f x the time of the prompt alone\n", attention / prefill);

  const auto instruction = ids("Answer the question from the passage in a few words.");
  const auto question = ids("\nQuestion: Which harbour was built in 1613?\nAnswer:");
  std::vector<TokenId> vanilla = instruction;
  vanilla.insert(vanilla.end(), prompt.begin(), prompt.end());
  vanilla.insert(vanilla.end(), question.begin(), question.end());
  greedy.max_new_tokens = kNewTokens;
  take(model->next_token_log_probabilities(ids("Something else")));
  const double one_prompt = seconds_of([&] { take(model->generate_tokens(vanilla, greedy)); });

  std::vector<SequenceState> states;
  const auto isolated = [&](bool warm) {
    std::vector<std::vector<TokenId>> passages;
    for (int i = 0; i < kPassages; ++i) passages.push_back(ids(passage(i)));
    std::vector<BatchSequence> sequences;
    std::vector<BatchAppend> ask;
    for (std::size_t i = 0; i < passages.size(); ++i) {
      sequences.push_back(warm ? BatchSequence{question, &states[i]} : BatchSequence{passages[i], nullptr});
      ask.push_back({i, question});
    }
    auto batch = take(model->start_batch(instruction, sequences));
    if (!warm) {
      if (auto status = batch->append(ask); !status.ok()) std::exit(1);
    }
    take(batch->generate_greedy(kNewTokens));
  };
  const double cold = seconds_of([&] { isolated(false); });
  {
    std::vector<std::vector<TokenId>> passages;
    std::vector<BatchSequence> sequences;
    for (int i = 0; i < kPassages; ++i) passages.push_back(ids(passage(i)));
    for (const auto& text : passages) sequences.push_back({text, nullptr});
    const auto batch = take(model->start_batch(instruction, sequences));
    for (std::size_t i = 0; i < batch->size(); ++i) states.push_back(take(batch->save_state(i)));
  }
  const double warm = seconds_of([&] { isolated(true); });
  std::printf(
      "%d passages in one prompt: %.2f s; isolated, cold: %.2f s (%.2f x); isolated, passages cached: %.2f s (%.2f "
      "x)\n",
      kPassages, one_prompt, cold, cold / one_prompt, warm, warm / one_prompt);
  std::printf("a passage's state: %zu bytes\n", states.front().bytes.size());
}
