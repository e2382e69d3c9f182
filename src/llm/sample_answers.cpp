#include "casemate/llm/sample_answers.h"

#include <algorithm>
#include <iterator>

#include "llm/sampling.h"
#include "llm/text_stream.h"

namespace casemate {
namespace {

constexpr std::size_t kTogether = 16;

bool can_draw_together(const LanguageModel& model, const GenerateOptions& options) {
  const Capabilities can = model.capabilities();
  return can.has_shared_prefix() && can.has(Feature::kTokens) && options.stop.empty() && options.grammar.empty() &&
         options.top_log_probabilities == 0;
}

/// An answer that is being drawn.
struct Draw {
  RandomStream random;
  Generation answer;
  bool done = false;
};

Result<std::vector<Generation>> draw_together(LanguageModel& model, std::span<const TokenId> prompt,
                                              const GenerateOptions& options, std::span<const std::uint64_t> seeds,
                                              const std::stop_token& stop) {
  const std::vector<BatchSequence> sequences(seeds.size());
  auto batch = model.start_batch(prompt, sequences, stop);
  if (!batch) return batch.error();
  std::vector<Draw> draws;
  for (const std::uint64_t seed : seeds) {
    Draw& draw = draws.emplace_back(Draw{RandomStream(seed, "llm/sampling"), {}, false});
    draw.answer.prompt_tokens = prompt.size();
    draw.answer.finish = FinishReason::kLength;
  }
  const std::size_t context = model.info().context_tokens;
  auto most = static_cast<std::size_t>(options.max_new_tokens);
  if (context > 0) most = std::min(most, context - std::min(context, prompt.size()));
  for (std::size_t round = 0; round < most; ++round) {
    std::vector<BatchAppend> appends;
    for (std::size_t i = 0; i < draws.size(); ++i) {
      Draw& draw = draws[i];
      if (draw.done) continue;
      const auto predicted = (*batch)->log_probabilities(i);
      if (!predicted) return predicted.error();
      const TokenId id = llm::choose(*predicted, options, draw.random);
      if (id < 0) return Error{ErrorCode::kModel, "no token is possible (not a number)"};
      draw.done = model.is_end_token(id);
      if (draw.done) {
        draw.answer.finish = FinishReason::kEnd;
        continue;
      }
      draw.answer.ids.push_back(id);
      appends.push_back({i, std::span<const TokenId>(draw.answer.ids).last(1)});
    }
    if (appends.empty() || round + 1 == most) break;  // what comes after the last token is not asked
    if (Status stepped = (*batch)->append(appends, stop); !stepped) return stepped.error();
  }
  std::vector<Generation> out;
  const OnText nobody;
  for (Draw& draw : draws) {
    const auto bytes = model.detokenize(draw.answer.ids);
    if (!bytes) return bytes.error();
    llm::TextStream text({}, nobody);  // mends characters that the last token cut off
    text.push(*bytes);
    text.finish();
    draw.answer.text = UntrustedText(text.text());
    draw.answer.generated_tokens = draw.answer.ids.size();
    out.push_back(std::move(draw.answer));
  }
  return out;
}

}  // namespace

Result<std::vector<Generation>> sample_answers(LanguageModel& model, const Prompt& prompt,
                                               const GenerateOptions& options, std::span<const std::uint64_t> seeds,
                                               std::stop_token stop) {
  if (Status good = validate(options); !good) return good.error();
  std::vector<Generation> out;
  if (seeds.size() < 2 || !can_draw_together(model, options)) {
    for (const std::uint64_t seed : seeds) {
      GenerateOptions one = options;
      one.seed = seed;
      auto made = model.generate(prompt, one, stop);
      if (!made) return made.error();
      out.push_back(*std::move(made));
    }
    return out;
  }
  const auto tokens = model.tokenize_prompt(prompt);
  if (!tokens) return tokens.error();
  for (std::size_t first = 0; first < seeds.size(); first += kTogether) {
    const auto some = seeds.subspan(first, std::min(kTogether, seeds.size() - first));
    auto made = draw_together(model, tokens->ids, options, some, stop);
    if (!made) return made.error();
    std::move(made->begin(), made->end(), std::back_inserter(out));
  }
  return out;
}

}  // namespace casemate
