// src/attack/flip_search.h
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "attack/poison_draft.h"
#include "attack/poison_objective.h"
#include "attack/token_pool.h"

namespace casemate {

/// A replacement that a search made.
struct Flip {
  int iteration = 0;  ///< from 1
  std::size_t slot = 0;
  TokenId token = 0;
};

/// What a search did: enough to say where it stood after any iteration, and to go on. The first n iterations of a
/// longer search are those of a shorter one.
struct FlipTrail {
  std::vector<TokenId> start;
  std::vector<Flip> flips;                    ///< in order
  std::vector<double> values;                 ///< before the first and after each iteration
  std::vector<std::uint64_t> forward_tokens;  ///< spent until then, as `values`
  std::vector<std::uint64_t> backward_tokens;
  bool settled = false;  ///< no place can be bettered: further iterations would change nothing

  [[nodiscard]] int iterations() const noexcept { return static_cast<int>(values.size()) - 1; }
  [[nodiscard]] std::vector<TokenId> tokens_after(int iterations) const;
};

[[nodiscard]] std::string to_text(const FlipTrail& trail);
/// Error: InvalidInput where `text` is no trail of `slots` places.
[[nodiscard]] Result<FlipTrail> parse_trail(std::string_view text, std::size_t slots);

struct FlipSettings {
  int iterations = 30;
  int candidates = 32;
  int batch = 8;
  std::uint64_t seed = 0;
  std::string stream;  ///< of the order of places
};

/// Continues `trail` (with nothing but `start`: begins it) up to the iterations of `settings`. On a stop the trail
/// holds what was done. Error: what the objective says; Cancelled.
[[nodiscard]] Status search_flips(const PoisonDraft& draft, const TokenPool& pool, PoisonObjective& objective,
                                  const FlipSettings& settings, FlipTrail& trail, std::stop_token stop,
                                  const std::function<void()>& after_iteration);

}  // namespace casemate
