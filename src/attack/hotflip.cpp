#include "casemate/attack/hotflip.h"

#include "attack/hotflip_names.h"
#include "attack/words.h"

namespace casemate {
namespace {

struct Range {
  const char* field;
  double value;
  double low;
  double high;
};

}  // namespace

std::string_view hotflip_name(FlipGoal goal, FlipPlace place) {
  switch (goal) {
    case FlipGoal::kRagPart:
      return "hotflip-ragpart";
    case FlipGoal::kRagMask:
      return "hotflip-ragmask";
    case FlipGoal::kSimilarity:
      break;
  }
  return place == FlipPlace::kSpread ? "hotflip-spread" : "hotflip";
}

std::string_view flip_place_name(FlipPlace place) {
  switch (place) {
    case FlipPlace::kPrefix:
      return "prefix";
    case FlipPlace::kMiddle:
      return "middle";
    case FlipPlace::kSuffix:
      return "suffix";
    case FlipPlace::kSpread:
      return "spread";
  }
  return "prefix";
}

Result<std::unique_ptr<HotFlip>> HotFlip::create(const HotFlipOptions& options) {
  const Range ranges[] = {{"tokens", static_cast<double>(options.tokens), 1, 256},
                          {"iterations", static_cast<double>(options.iterations), 0, 10000},
                          {"candidates", static_cast<double>(options.candidates), 1, 1000},
                          {"batch", static_cast<double>(options.batch), 1, static_cast<double>(options.candidates)},
                          {"documents_per_query", static_cast<double>(options.documents_per_query), 1, 100},
                          {"clusters", static_cast<double>(options.clusters), 0, 1e6},
                          {"fragments", static_cast<double>(options.fragments), 1, 20},
                          {"poisoned_fragments", static_cast<double>(options.poisoned_fragments), 0,
                           static_cast<double>(options.fragments)},
                          {"mask_length_tokens", static_cast<double>(options.mask_length_tokens), 1, 512},
                          {"delta", options.delta, 0, 1000},
                          {"delta_relative", options.delta_relative, 0, 1},
                          {"penalty", options.penalty, 0, 1000}};
  const std::string name(hotflip_name(options.goal, options.place));
  for (const Range& range : ranges) {
    if (range.value >= range.low && range.value <= range.high) continue;
    return Error{ErrorCode::kInvalidOption, name + ": " + range.field + " is " + number_text(range.value) +
                                                ", it must be in " + number_text(range.low) + " to " +
                                                number_text(range.high)};
  }
  if (options.start == FlipStart::kMask && options.goal != FlipGoal::kSimilarity) {
    return Error{ErrorCode::kInvalidOption,
                 name + ": start must be query: the defence reads text, in which mask tokens cannot stand"};
  }
  return std::unique_ptr<HotFlip>(new HotFlip(options));
}

std::string_view HotFlip::name() const noexcept { return hotflip_name(options_.goal, options_.place); }

std::vector<std::pair<std::string, std::string>> HotFlip::parameters() const {
  std::vector<std::pair<std::string, std::string>> out = {
      {"tokens", std::to_string(options_.tokens)},
      {"iterations", std::to_string(options_.iterations)},
      {"candidates", std::to_string(options_.candidates)},
      {"batch", std::to_string(options_.batch)},
      {"documents_per_query", std::to_string(options_.documents_per_query)},
      {"clusters", std::to_string(options_.clusters)},
      {"start", options_.start == FlipStart::kQuery ? "query" : "mask"}};
  if (options_.goal == FlipGoal::kRagPart) {
    out.emplace_back("fragments", std::to_string(options_.fragments));
    out.emplace_back("unit", options_.unit == FragmentUnit::kWord ? "word" : "token");
    out.emplace_back("poisoned_fragments", std::to_string(options_.poisoned_fragments));
    return out;
  }
  out.emplace_back("place", flip_place_name(options_.place));
  if (options_.goal == FlipGoal::kRagMask) {
    out.emplace_back("mask_length_tokens", std::to_string(options_.mask_length_tokens));
    out.emplace_back("delta", number_text(options_.delta));
    out.emplace_back("delta_relative", number_text(options_.delta_relative));
    out.emplace_back("perturb", options_.delete_segments ? "delete" : "mask");
    out.emplace_back("penalty", number_text(options_.penalty));
  }
  return out;
}

}  // namespace casemate
