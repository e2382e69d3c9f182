#include "attack/slot_layout.h"

#include <algorithm>

#include "attack/words.h"

namespace casemate {
namespace {

/// `tokens` places over `spots`, evenly; several at a spot where there are fewer spots.
std::vector<SlotGroup> spread(const std::vector<std::size_t>& spots, std::size_t tokens) {
  std::vector<SlotGroup> out;
  for (std::size_t i = 0; i < tokens; ++i) {
    const std::size_t spot = spots[(2 * i + 1) * spots.size() / (2 * tokens)];
    if (out.empty() || out.back().at != spot) out.push_back({spot, 0});
    ++out.back().slots;
  }
  return out;
}

std::vector<std::size_t> fragment_starts(const Encoder& encoder, std::string_view passage,
                                         const HotFlipOptions& options) {
  std::vector<std::size_t> starts;
  const auto fragments = split_fragments(passage, encoder.tokenizer(), {options.fragments, options.unit});
  for (std::size_t f = 0; fragments && f < fragments->distinct; ++f) starts.push_back(fragments->spans[f].begin);
  if (starts.empty()) starts.push_back(0);
  const std::size_t wanted =
      options.poisoned_fragments == 0 ? starts.size() : static_cast<std::size_t>(options.poisoned_fragments);
  starts.resize(std::min(wanted, starts.size()));
  return starts;
}

}  // namespace

std::vector<SlotGroup> lay_out_slots(const Encoder& encoder, std::string_view passage, const HotFlipOptions& options) {
  const auto tokens = static_cast<std::size_t>(options.tokens);
  if (options.goal == FlipGoal::kRagPart) return spread(fragment_starts(encoder, passage, options), tokens);
  if (options.place == FlipPlace::kPrefix) return {{0, tokens}};
  const std::size_t last = last_readable_place(encoder, passage, tokens);
  if (options.place == FlipPlace::kSuffix) return {{last, tokens}};
  const auto words = blank_separated_words(passage);
  if (options.place == FlipPlace::kMiddle) {
    return {{words.empty() ? 0 : std::min(words[words.size() / 2].begin, last), tokens}};
  }
  std::vector<std::size_t> spots;
  for (const BlankSeparatedWord& word : words) {
    if (word.begin <= last) spots.push_back(word.begin);
  }
  if (last == passage.size() || spots.empty()) spots.push_back(last);
  return spread(spots, tokens);
}

}  // namespace casemate
