#include "casemate/llm/language_model.h"

#include <cmath>

namespace casemate {
namespace {

Error unsupported(const ModelInfo& info, Feature feature) {
  return {ErrorCode::kUnsupported, "the language model " + info.name + " (" + info.backend + ") has no " +
                                       std::string(feature_name(feature)) + "; a model in process (llama.cpp) has"};
}

}  // namespace

std::string_view feature_name(Feature feature) noexcept {
  switch (feature) {
    case Feature::kTokens:
      return "access to its tokens";
    case Feature::kGrammar:
      return "grammar-constrained output";
    case Feature::kFullLogProbabilities:
      return "full next-token log-probabilities";
    case Feature::kTopLogProbabilities:
      return "top-n log-probabilities";
    case Feature::kContinuationLoss:
      return "loss of a given continuation";
    case Feature::kAttention:
      return "attention weights";
    case Feature::kSharedPrefix:
      return "shared-prefix batches";
    case Feature::kSequenceState:
      return "sequence states";
  }
  return "such feature";
}

std::string_view finish_reason_name(FinishReason reason) noexcept {
  switch (reason) {
    case FinishReason::kEnd:
      return "end";
    case FinishReason::kLength:
      return "length";
    case FinishReason::kStopString:
      return "stop_string";
  }
  return "end";
}

Status validate(const GenerateOptions& options) {
  const auto wrong = [](const std::string& what) { return Error{ErrorCode::kInvalidOption, what}; };
  if (options.max_new_tokens < 1) {
    return wrong("max_new_tokens is " + std::to_string(options.max_new_tokens) + "; it must be at least 1");
  }
  if (!(options.temperature >= 0) || !std::isfinite(options.temperature)) {
    return wrong("temperature is " + std::to_string(options.temperature) + "; it must be a number of at least 0");
  }
  if (!(options.top_p > 0 && options.top_p <= 1)) {
    return wrong("top_p is " + std::to_string(options.top_p) + "; it must be in (0, 1]");
  }
  if (options.top_k < 0) return wrong("top_k is " + std::to_string(options.top_k) + "; it must be at least 0");
  if (options.top_log_probabilities < 0 || options.top_log_probabilities > 100) {
    return wrong("top_log_probabilities is " + std::to_string(options.top_log_probabilities) +
                 "; it must be in [0, 100]");
  }
  for (const std::string& stop : options.stop) {
    if (stop.empty()) return wrong("stop holds an empty string, which would end every answer at once");
  }
  return {};
}

Status require(const LanguageModel& model, std::initializer_list<Feature> features, std::string_view needed_by) {
  std::string missing;
  for (const Feature feature : features) {
    if (model.capabilities().has(feature)) continue;
    missing += (missing.empty() ? "" : ", ") + std::string(feature_name(feature));
  }
  if (missing.empty()) return {};
  return Error{ErrorCode::kUnsupported, std::string(needed_by) + " needs " + missing + ", which the language model " +
                                            model.info().name + " (" + model.info().backend +
                                            ") does not have; a model in process (llama.cpp) has"};
}

Result<Tokens> LanguageModel::tokenize(std::string_view, SpecialTokens) const {
  return unsupported(info(), Feature::kTokens);
}
Result<PromptTokens> LanguageModel::tokenize_prompt(const Prompt&) const {
  return unsupported(info(), Feature::kTokens);
}
Result<std::string> LanguageModel::detokenize(std::span<const TokenId>) const {
  return unsupported(info(), Feature::kTokens);
}
bool LanguageModel::is_special(TokenId) const noexcept { return false; }
bool LanguageModel::is_end_token(TokenId) const noexcept { return false; }
Result<Generation> LanguageModel::generate_tokens(std::span<const TokenId>, const GenerateOptions&, std::stop_token,
                                                  const OnText&) {
  return unsupported(info(), Feature::kTokens);
}
Result<std::vector<float>> LanguageModel::next_token_log_probabilities(std::span<const TokenId>, std::stop_token) {
  return unsupported(info(), Feature::kFullLogProbabilities);
}
Result<ContinuationScore> LanguageModel::score_continuation(std::span<const TokenId>, std::span<const TokenId>,
                                                            std::stop_token) {
  return unsupported(info(), Feature::kContinuationLoss);
}
Status LanguageModel::attention(std::span<const TokenId>, const AttentionVisitor&, std::stop_token) {
  return unsupported(info(), Feature::kAttention);
}
Result<Generation> LanguageModel::generate_with_attention(std::span<const TokenId> prompt,
                                                          const GenerateOptions& options,
                                                          const AttentionVisitor& visitor, std::stop_token stop) {
  auto generation = generate_tokens(prompt, options, stop);
  if (!generation) return generation;
  std::vector<TokenId> all(prompt.begin(), prompt.end());
  all.insert(all.end(), generation->ids.begin(), generation->ids.end());
  if (Status seen = attention(all, visitor, std::move(stop)); !seen) return seen.error();
  return generation;
}
Result<std::unique_ptr<LlmBatch>> LanguageModel::start_batch(std::span<const TokenId>, std::span<const BatchSequence>,
                                                             std::stop_token) {
  return unsupported(info(), Feature::kSharedPrefix);
}
LlmUsage LanguageModel::usage() const { return {}; }

}  // namespace casemate
