#include "sanitize/ap_context.h"

#include <algorithm>

#include "casemate/text/segmentation.h"

namespace casemate {

Prompt ap_prompt(const UntrustedText& question, std::span<const ContextPassage> passages) {
  PromptBuilder prompt = PromptBuilder::plain();
  prompt.text(
      "Text: Mayor Lena Brandt opened the new library on Friday, praising the volunteers who had raised the money.\n"
      "Question: Who opened the new library?\nAnswer: Lena Brandt\n\nText: ");
  for (const ContextPassage& passage : passages) {
    if (passage.text.empty()) continue;
    if (!passage.title.empty()) prompt.untrusted(passage.title).text("\n");
    prompt.untrusted(passage.text).text("\n");
  }
  prompt.text("Question: ").untrusted(question).text("\nAnswer:");
  return prompt.build();
}

}  // namespace casemate

namespace casemate::sanitize {
namespace {

std::size_t limit_of(const LanguageModel& model, const ApOptions& options) {
  const auto most = static_cast<std::size_t>(options.max_context_tokens);
  const std::size_t model_limit = model.info().context_tokens;
  return model_limit == 0 ? most : std::min(most, model_limit);
}

}  // namespace

std::vector<int> passage_parts(const Prompt& prompt, std::span<const ContextPassage> passages) {
  const std::vector<PromptPart>& parts = prompt.messages.back().parts;
  std::vector<int> out(passages.size(), -1);
  std::size_t at = 0;
  const auto next_untrusted = [&] {
    while (at < parts.size() && parts[at].trusted) ++at;
    return static_cast<int>(at++);
  };
  for (std::size_t p = 0; p < passages.size(); ++p) {
    if (passages[p].text.empty()) continue;
    if (!passages[p].title.empty()) next_untrusted();
    out[p] = next_untrusted();
  }
  return out;
}

Result<FittedContext> fit_context(const LanguageModel& model, const UntrustedText& question,
                                  std::span<const ContextPassage> passages, const ApOptions& options) {
  const std::size_t limit = limit_of(model, options);
  const auto draft = static_cast<std::size_t>(options.max_draft_tokens);
  const auto attempt = [&](std::span<const ContextPassage> some) {
    return model.tokenize_prompt(ap_prompt(question, some));
  };
  FittedContext out;
  for (std::size_t count = passages.size(); count > 0; --count) {
    auto tokens = attempt(passages.first(count));
    if (!tokens) return tokens.error();
    if (tokens->ids.size() + draft > limit) continue;
    out.passages.assign(passages.begin(), passages.begin() + static_cast<std::ptrdiff_t>(count));
    out.tokens = *std::move(tokens);
    return out;
  }
  const auto bare = attempt({});
  if (!bare) return bare.error();
  if (bare->ids.size() + draft > limit) {
    return Error{ErrorCode::kLimit, "the question has " + std::to_string(bare->ids.size()) +
                                        " tokens with its frame, and the keyword model holds " + std::to_string(limit) +
                                        " with a draft of " + std::to_string(draft)};
  }
  out.tokens = *bare;
  if (passages.empty()) return out;
  out.cut = true;
  // As many sentences of the first passage as fit, by bisection: the token count grows with their number.
  const std::string text = passages[0].text.for_prompt();
  const auto sentences = sentence_spans(text);
  std::size_t fits = 0;
  std::size_t fails = sentences.size();
  while (fits + 1 < fails) {
    const std::size_t middle = fits + (fails - fits) / 2;
    const ContextPassage cut{passages[0].title, UntrustedText(text.substr(0, sentences[middle - 1].end))};
    auto tokens = attempt(std::span(&cut, 1));
    if (!tokens) return tokens.error();
    if (tokens->ids.size() + draft > limit) {
      fails = middle;
    } else {
      fits = middle;
      out.passages = {cut};
      out.tokens = *std::move(tokens);
    }
  }
  return out;
}

}  // namespace casemate::sanitize
