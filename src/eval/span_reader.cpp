#include "casemate/eval/span_reader.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "casemate/generate/question.h"

namespace casemate {
namespace {

bool is_word(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || byte >= 0x80;
}

/// A piece that may be the answer: the tokens from one place of the passage on.
struct SpanCandidate {
  std::size_t begin = 0;
  std::vector<TokenId> ids;
  std::vector<std::size_t> ends;  ///< byte of the passage behind each token
};

/// Bytes that are tokenised from one start on: more than `max_tokens` tokens of any language.
std::size_t window(int max_tokens) { return static_cast<std::size_t>(max_tokens) * 12; }

Result<std::vector<SpanCandidate>> candidates_of(const LanguageModel& model, std::string_view text, int max_tokens) {
  std::vector<SpanCandidate> out;
  for (const std::size_t begin : word_starts(text)) {
    // Cut at a word, so that no token joins what is cut apart.
    std::size_t end = std::min(text.size(), begin + window(max_tokens));
    while (end < text.size() && text[end] != ' ') ++end;
    const auto tokens = model.tokenize(text.substr(begin, end - begin), SpecialTokens::kAsText);
    if (!tokens) return tokens.error();
    SpanCandidate candidate;
    candidate.begin = begin;
    for (std::size_t i = 0; i < tokens->ids.size() && candidate.ids.size() < static_cast<std::size_t>(max_tokens);
         ++i) {
      candidate.ids.push_back(tokens->ids[i]);
      candidate.ends.push_back(begin + tokens->spans[i].end);
    }
    if (!candidate.ids.empty()) out.push_back(std::move(candidate));
  }
  return out;
}

bool ends_a_word(std::string_view text, std::size_t at) {
  return at >= text.size() || !is_word(text[at]) || (at > 0 && !is_word(text[at - 1]));
}

/// The likeliest way to end: an end token, or the punctuation that models put before one.
double end_score(const LanguageModel& model, std::span<const float> next, std::span<const TokenId> full_stops) {
  double best = -std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < next.size(); ++i) {
    if (model.is_end_token(static_cast<TokenId>(i))) best = std::max(best, static_cast<double>(next[i]));
  }
  for (const TokenId id : full_stops) best = std::max(best, static_cast<double>(next[static_cast<std::size_t>(id)]));
  return best;
}

Result<std::vector<TokenId>> full_stops_of(const LanguageModel& model) {
  std::vector<TokenId> out;
  for (const char* text : {".", "\n", ".\n"}) {
    const auto tokens = model.tokenize(text, SpecialTokens::kAsText);
    if (!tokens) return tokens.error();
    if (tokens->ids.size() == 1) out.push_back(tokens->ids.front());
  }
  return out;
}

SpanAnswer answer_of(std::string_view text, const SpanCandidate& candidate, std::size_t tokens,
                     double log_probability) {
  SpanAnswer out;
  out.generated_tokens = tokens;
  out.log_probability = log_probability;
  if (tokens == 0) return out;
  out.begin = candidate.begin;
  out.end = std::min(candidate.ends[tokens - 1], text.size());
  while (out.end > out.begin && !is_word(text[out.end - 1]) && text[out.end - 1] != ')' && text[out.end - 1] != '%')
    --out.end;
  out.text = UntrustedText(std::string(text.substr(out.begin, out.end - out.begin)));
  return out;
}

}  // namespace

std::vector<std::size_t> word_starts(std::string_view text) {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (is_word(text[i]) && (i == 0 || !is_word(text[i - 1]))) out.push_back(i);
  }
  return out;
}

Result<SpanAnswer> read_span(LanguageModel& model, const UntrustedText& question, const PromptPassage& passage,
                             int max_tokens, std::stop_token stop) {
  if (max_tokens < 1) return Error{ErrorCode::kInvalidArgument, "max_tokens must be at least 1"};
  if (Status able = require(model, {Feature::kTokens, Feature::kFullLogProbabilities, Feature::kSharedPrefix},
                            "answers constrained to a passage");
      !able)
    return able.error();
  const std::string& text = passage.text.bytes();
  const auto candidates = candidates_of(model, text, max_tokens);
  if (!candidates) return candidates.error();
  if (candidates->empty()) return SpanAnswer{};
  const auto full_stops = full_stops_of(model);
  if (!full_stops) return full_stops.error();
  const auto prompt = model.tokenize_prompt(all_passages_prompt(Question{question}, std::span(&passage, 1)));
  if (!prompt) return prompt.error();
  const BatchSequence whole{prompt->ids};
  auto batch = model.start_batch({}, std::span(&whole, 1), stop);
  if (!batch) return batch.error();
  std::vector<const SpanCandidate*> going;
  for (const SpanCandidate& each : *candidates) going.push_back(&each);
  double sum = 0;
  for (std::size_t step = 0;; ++step) {
    const SpanCandidate* ended = nullptr;
    if (step > 0) {
      const auto at_word_end = std::find_if(going.begin(), going.end(), [&](const SpanCandidate* each) {
        return ends_a_word(text, each->ends[step - 1]);
      });
      if (at_word_end != going.end()) ended = *at_word_end;
    }
    const auto next = (*batch)->log_probabilities(0);
    if (!next) return next.error();
    double best = -std::numeric_limits<double>::infinity();
    std::optional<TokenId> token;
    for (const SpanCandidate* each : going) {
      if (step >= each->ids.size()) continue;
      const auto value = static_cast<double>((*next)[static_cast<std::size_t>(each->ids[step])]);
      if (token && value <= best) continue;
      best = value;
      token = each->ids[step];
    }
    if (ended != nullptr && (!token || end_score(model, *next, *full_stops) >= best))
      return answer_of(text, *ended, step, sum);
    // A window that ends inside a word: what there is of it is the answer.
    if (!token) return answer_of(text, *going.front(), step, sum);
    std::erase_if(going,
                  [&](const SpanCandidate* each) { return step >= each->ids.size() || each->ids[step] != *token; });
    sum += best;
    if (step + 1 == static_cast<std::size_t>(max_tokens)) return answer_of(text, *going.front(), step + 1, sum);
    const BatchAppend append{0, std::span(&*token, 1)};
    if (Status stepped = (*batch)->append(std::span(&append, 1), stop); !stepped) return stepped.error();
  }
}

}  // namespace casemate
