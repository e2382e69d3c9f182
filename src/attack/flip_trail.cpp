#include <nlohmann/json.hpp>

#include "attack/flip_search.h"

namespace casemate {

std::string to_text(const FlipTrail& trail) {
  nlohmann::ordered_json flips = nlohmann::ordered_json::array();
  for (const Flip& flip : trail.flips) flips.push_back({flip.iteration, flip.slot, flip.token});
  return nlohmann::ordered_json{{"start", trail.start},
                                {"flips", std::move(flips)},
                                {"values", trail.values},
                                {"forward", trail.forward_tokens},
                                {"backward", trail.backward_tokens},
                                {"settled", trail.settled}}
      .dump();
}

Result<FlipTrail> parse_trail(std::string_view text, std::size_t slots) {
  FlipTrail trail;
  try {
    const auto json = nlohmann::json::parse(text);
    json.at("start").get_to(trail.start);
    json.at("values").get_to(trail.values);
    json.at("forward").get_to(trail.forward_tokens);
    json.at("backward").get_to(trail.backward_tokens);
    json.at("settled").get_to(trail.settled);
    for (const auto& flip : json.at("flips"))
      trail.flips.push_back({flip.at(0).get<int>(), flip.at(1).get<std::size_t>(), flip.at(2).get<TokenId>()});
  } catch (const nlohmann::json::exception&) {
    return Error{ErrorCode::kInvalidInput, "kept crafting work cannot be read; remove its file to craft anew"};
  }
  bool good = trail.start.size() == slots && !trail.values.empty() &&
              trail.forward_tokens.size() == trail.values.size() && trail.backward_tokens.size() == trail.values.size();
  for (const Flip& flip : trail.flips) good = good && flip.slot < slots && flip.iteration >= 1;
  if (!good) return Error{ErrorCode::kInvalidInput, "kept crafting work is of another attack; remove its file"};
  return trail;
}

}  // namespace casemate
