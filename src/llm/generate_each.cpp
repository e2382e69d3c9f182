#include "casemate/llm/generate_each.h"

#include <algorithm>
#include <iterator>

namespace casemate {
namespace {

Result<std::vector<Generation>> one_by_one(LanguageModel& model, std::span<const Prompt> prompts,
                                           const GenerateEachOptions& options, const std::stop_token& stop) {
  GenerateOptions generate;
  generate.max_new_tokens = options.max_new_tokens;
  generate.stop = options.stop;
  std::vector<Generation> out;
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    auto made = model.generate(prompts[i], generate, stop);
    if (!made) return Error{made.error().code, "prompt " + std::to_string(i + 1) + ": " + made.error().message};
    out.push_back(*std::move(made));
  }
  return out;
}

}  // namespace

Result<bool> prompt_fits(const LanguageModel& model, const Prompt& prompt, int max_new_tokens) {
  if (!model.capabilities().has(Feature::kTokens) || model.info().context_tokens == 0) return true;
  const auto tokens = model.tokenize_prompt(prompt);
  if (!tokens) return tokens.error();
  return tokens->ids.size() + static_cast<std::size_t>(std::max(max_new_tokens, 0)) <= model.info().context_tokens;
}

std::size_t common_prefix(std::span<const std::vector<TokenId>> sequences) {
  if (sequences.empty()) return 0;
  std::size_t length = sequences[0].size();
  for (const std::vector<TokenId>& sequence : sequences) {
    const auto differ = std::mismatch(sequences[0].begin(), sequences[0].end(), sequence.begin(), sequence.end());
    length = std::min({length, static_cast<std::size_t>(differ.first - sequences[0].begin()),
                       sequence.empty() ? 0 : sequence.size() - 1});
  }
  return length;
}

Result<std::vector<Generation>> generate_each(LanguageModel& model, std::span<const Prompt> prompts,
                                              const GenerateEachOptions& options, std::stop_token stop) {
  if (options.max_new_tokens < 1 || options.max_sequences < 1)
    return Error{ErrorCode::kInvalidOption, "max_new_tokens and max_sequences must be at least 1"};
  if (!model.capabilities().has_shared_prefix() || prompts.size() < 2) return one_by_one(model, prompts, options, stop);
  std::vector<std::vector<TokenId>> tokens;
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    auto framed = model.tokenize_prompt(prompts[i]);
    if (!framed) return Error{framed.error().code, "prompt " + std::to_string(i + 1) + ": " + framed.error().message};
    tokens.push_back(std::move(framed->ids));
  }
  const std::size_t shared = common_prefix(tokens);
  std::vector<Generation> out;
  for (std::size_t first = 0; first < tokens.size(); first += options.max_sequences) {
    const std::size_t count = std::min(options.max_sequences, tokens.size() - first);
    std::vector<BatchSequence> sequences;
    for (std::size_t i = first; i < first + count; ++i)
      sequences.push_back({std::span<const TokenId>(tokens[i]).subspan(shared)});
    auto batch = model.start_batch(std::span<const TokenId>(tokens[0]).first(shared), sequences, stop);
    if (!batch) return batch.error();
    auto made = (*batch)->generate_greedy(options.max_new_tokens, options.stop, stop);
    if (!made) return made.error();
    std::move(made->begin(), made->end(), std::back_inserter(out));
  }
  return out;
}

}  // namespace casemate
