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

Result<FittedContext> fit_context(const LanguageModel& model, std::span<const ContextPassage> passages,
                                  std::size_t limit, std::size_t reserve,
                                  const std::function<Prompt(std::span<const ContextPassage>)>& make_prompt) {
  FittedContext out;
  out.passages.assign(passages.begin(), passages.end());
  out.prompt = make_prompt(passages);
  if (!model.capabilities().has(Feature::kTokens) || limit == 0) return out;
  /// Nothing where it does not fit.
  const auto attempt = [&](std::span<const ContextPassage> some) -> Result<bool> {
    Prompt prompt = make_prompt(some);
    auto tokens = model.tokenize_prompt(prompt);
    if (!tokens) return tokens.error();
    if (tokens->ids.size() + reserve > limit) return false;
    out.passages.assign(some.begin(), some.end());
    out.prompt = std::move(prompt);
    out.tokens = *std::move(tokens);
    return true;
  };
  for (std::size_t count = passages.size(); count > 0; --count) {
    const auto fits = attempt(passages.first(count));
    if (!fits) return fits.error();
    if (*fits) return out;
  }
  const auto bare = attempt({});
  if (!bare) return bare.error();
  if (!*bare) {
    return Error{ErrorCode::kLimit, "the question does not fit " + model.info().name + ": " + std::to_string(limit) +
                                        " tokens, of which " + std::to_string(reserve) + " are for what it writes"};
  }
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
    const auto good = attempt(std::span(&cut, 1));
    if (!good) return good.error();
    (*good ? fits : fails) = middle;
  }
  return out;
}

}  // namespace casemate::sanitize
