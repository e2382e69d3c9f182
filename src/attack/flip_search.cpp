#include "attack/flip_search.h"

#include <algorithm>
#include <set>

#include "attack/words.h"

namespace casemate {
namespace {

/// An improvement below this is rounding.
constexpr double kLeastGain = 1e-6;
/// Ranked tokens that are looked at for each one that is tried, since some do not survive being written.
constexpr std::size_t kLooks = 4;

/// Which place an iteration looks at: every place once in a random order, then again in another.
class PlaceOrder {
 public:
  PlaceOrder(const FlipSettings& settings, std::size_t slots) : settings_(settings), slots_(slots) {}
  std::size_t at(int iteration) {
    const auto index = static_cast<std::size_t>(iteration - 1);
    const std::size_t pass = index / slots_;
    if (order_.empty() || pass != pass_) {
      RandomStream random(settings_.seed, settings_.stream + "/" + std::to_string(pass));
      order_ = draw_indices(random, slots_, slots_);
      pass_ = pass;
    }
    return order_[index % slots_];
  }

 private:
  const FlipSettings& settings_;
  std::size_t slots_;
  std::size_t pass_ = 0;
  std::vector<std::size_t> order_;
};

class FlipSearch {
 public:
  FlipSearch(const PoisonDraft& draft, const TokenPool& pool, PoisonObjective& objective, const FlipSettings& settings,
             FlipTrail& trail)
      : draft_(draft),
        pool_(pool),
        objective_(objective),
        settings_(settings),
        trail_(trail),
        order_(settings, draft.slots()) {}

  Status run(std::stop_token stop, const std::function<void()>& after_iteration) {
    if (Status begun = begin(); !begun) return begun;
    while (trail_.iterations() < settings_.iterations && !trail_.settled) {
      if (stop.stop_requested()) return Error{ErrorCode::kCancelled, "stopped"};
      const std::size_t slot = order_.at(trail_.iterations() + 1);
      if (Status stepped = step(slot); !stepped) return stepped;
      trail_.values.push_back(value_);
      trail_.forward_tokens.push_back(spent_.forward_tokens + objective_.costs().forward_tokens);
      trail_.backward_tokens.push_back(spent_.backward_tokens + objective_.costs().backward_tokens);
      trail_.settled = fruitless_.size() == draft_.slots();
      after_iteration();
    }
    return {};
  }

 private:
  Status begin() {
    auto written = draft_.write(trail_.tokens_after(settings_.iterations));
    if (!written) return Error{ErrorCode::kInvalidArgument, "the tokens do not survive being written"};
    current_ = *std::move(written);
    const bool fresh = trail_.values.empty();
    const auto value = objective_.start(current_);
    if (!value) return value.error();
    value_ = *value;
    if (fresh) {
      trail_.values.push_back(value_);
      trail_.forward_tokens.push_back(objective_.costs().forward_tokens);
      trail_.backward_tokens.push_back(objective_.costs().backward_tokens);
      return {};
    }
    const int last = trail_.flips.empty() ? 0 : trail_.flips.back().iteration;
    for (int i = last + 1; i <= trail_.iterations(); ++i) {
      // The objective keeps gradients until the next change: what it had, it has again.
      if (!fruitless_.insert(order_.at(i)).second) continue;
      if (const auto gradient = objective_.gradient(order_.at(i)); !gradient) return gradient.error();
    }
    // What it took to come back here is not counted: unsigned, so that it may be more than was spent.
    spent_.forward_tokens = trail_.forward_tokens.back() - objective_.costs().forward_tokens;
    spent_.backward_tokens = trail_.backward_tokens.back() - objective_.costs().backward_tokens;
    return {};
  }

  Status step(std::size_t slot) {
    if (fruitless_.contains(slot)) return {};  // nothing has changed since it was last looked at
    const auto gradient = objective_.gradient(slot);
    if (!gradient) return gradient.error();
    fruitless_.insert(slot);
    if (gradient->empty()) return {};
    const auto wanted = static_cast<std::size_t>(settings_.candidates);
    const std::vector<TokenId> ranked = pool_.best(*gradient, current_.slots[slot], wanted * kLooks);
    std::size_t tried = 0;
    for (std::size_t next = 0; next < ranked.size() && tried < wanted;) {
      std::vector<PoisonDraft::Version> versions;
      const std::size_t room = std::min(static_cast<std::size_t>(settings_.batch), wanted - tried);
      for (; next < ranked.size() && versions.size() < room; ++next) {
        std::vector<TokenId> slots = current_.slots;
        slots[slot] = ranked[next];
        auto written = draft_.write(slots);
        if (written) versions.push_back(*std::move(written));
      }
      if (versions.empty()) break;
      tried += versions.size();
      const auto seen = take_best(versions, slot);
      if (!seen) return seen.error();
      if (*seen != Seen::kNoneHelps) break;
    }
    return {};
  }

  enum class Seen { kNoneHelps, kTaken, kRefused };

  /// Takes the best of `versions` if it helps. One that only seemed to help ends the step, since finding that out may
  /// cost more than all candidates did.
  Result<Seen> take_best(std::vector<PoisonDraft::Version>& versions, std::size_t slot) {
    std::vector<const PoisonDraft::Version*> pointers;
    for (const PoisonDraft::Version& version : versions) pointers.push_back(&version);
    const auto values = objective_.values(pointers, slot);
    if (!values) return values.error();
    const auto best = std::max_element(values->begin(), values->end()) - values->begin();
    const double value = (*values)[static_cast<std::size_t>(best)];
    if (value <= value_ + kLeastGain) return Seen::kNoneHelps;
    PoisonDraft::Version& version = versions[static_cast<std::size_t>(best)];
    const auto accepted = objective_.accept(version, slot, value, value_ + kLeastGain);
    if (!accepted) return accepted.error();
    if (!*accepted) return Seen::kRefused;
    value_ = **accepted;
    current_ = std::move(version);
    trail_.flips.push_back({trail_.iterations() + 1, slot, current_.slots[slot]});
    fruitless_.clear();
    return Seen::kTaken;
  }

  const PoisonDraft& draft_;
  const TokenPool& pool_;
  PoisonObjective& objective_;
  const FlipSettings& settings_;
  FlipTrail& trail_;
  PlaceOrder order_;
  PoisonDraft::Version current_;
  double value_ = 0;
  CraftCosts spent_;
  std::set<std::size_t> fruitless_;  ///< places looked at since the last change, in vain
};

}  // namespace

std::vector<TokenId> FlipTrail::tokens_after(int iterations) const {
  std::vector<TokenId> out = start;
  for (const Flip& flip : flips) {
    if (flip.iteration <= iterations) out[flip.slot] = flip.token;
  }
  return out;
}

Status search_flips(const PoisonDraft& draft, const TokenPool& pool, PoisonObjective& objective,
                    const FlipSettings& settings, FlipTrail& trail, std::stop_token stop,
                    const std::function<void()>& after_iteration) {
  if (!trail.values.empty() && (trail.iterations() >= settings.iterations || trail.settled)) return {};
  return FlipSearch(draft, pool, objective, settings, trail).run(std::move(stop), after_iteration);
}

}  // namespace casemate
