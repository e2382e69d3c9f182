#include <algorithm>
#include <cmath>

#include "attack/poison_objective.h"

namespace casemate {
namespace {

/// Masking the segment that a place lies in hides whatever token stands there, so that segment's similarity does not
/// change with the token: of a candidate, the drop of its own segment is known from one forward pass. The drops of the
/// other segments are taken to stay as they are until a candidate is accepted, and are then embedded anew.
class RagMaskObjective final : public PoisonObjective {
 public:
  RagMaskObjective(const DifferentiableEncoder& encoder, std::span<const float> target, const HotFlipOptions& options)
      : encoder_(encoder), target_(target), options_(options) {}

  Result<double> start(const Version& version) override {
    const std::size_t length = version.ids.size() - frame() - suffix();
    const auto m = static_cast<std::size_t>(options_.mask_length_tokens);
    state_ = {};
    state_.perturbed.resize((length + m - 1) / m);
    std::vector<std::size_t> all(state_.perturbed.size());
    for (std::size_t s = 0; s < all.size(); ++s) all[s] = s;
    State next = state_;
    if (Status measured = measure(version, all, next); !measured) return measured.error();
    take(version, std::move(next));
    return value_of(state_);
  }

  Result<std::vector<float>> gradient(std::size_t slot) override {
    auto out = similarity_gradient_.at(encoder_, target_, current_, slot, costs_);
    if (!out || out->empty()) return out;
    // Where this segment already stands out, less similarity is better.
    if (excess(state_.similarity, state_.perturbed[segment_of(slot)]) > 0 && options_.penalty > 1) {
      for (float& each : *out) each = -each;
    }
    return out;
  }

  Result<std::vector<double>> values(std::span<const Version* const> versions, std::size_t slot) override {
    std::vector<std::vector<TokenId>> sequences;
    for (const Version* version : versions) sequences.push_back(version->ids);
    const auto similarities = embed(sequences);
    if (!similarities) return similarities.error();
    const std::size_t own = segment_of(slot);
    double others = 0;
    for (std::size_t s = 0; s < state_.perturbed.size(); ++s) {
      if (s != own) others += excess(state_.similarity, state_.perturbed[s]);
    }
    std::vector<double> out;
    for (const double similarity : *similarities)
      out.push_back(similarity - options_.penalty * (others + excess(similarity, state_.perturbed[own])));
    return out;
  }

  Result<std::optional<double>> accept(const Version& version, std::size_t slot, double value, double least) override {
    if (value <= least) return std::optional<double>();
    State next = state_;
    std::vector<std::size_t> others;
    for (std::size_t s = 0; s < next.perturbed.size(); ++s) {
      if (s != segment_of(slot)) others.push_back(s);
    }
    if (Status measured = measure(version, others, next); !measured) return measured.error();
    const double exact = value_of(next);
    if (exact <= least) return std::optional<double>();
    take(version, std::move(next));
    return std::optional(exact);
  }

 private:
  struct State {
    double similarity = 0;
    std::vector<double> perturbed;  ///< similarity without each segment
  };

  [[nodiscard]] std::size_t frame() const {
    const std::string& prefix = encoder_.info().passage_prefix;
    std::size_t out = encoder_.tokenizer().prefix().size();
    if (!prefix.empty()) out += encoder_.tokenizer().tokenize(prefix, SpecialTokens::kAsText).ids.size();
    return out;
  }
  [[nodiscard]] std::size_t suffix() const { return encoder_.tokenizer().suffix().size(); }
  [[nodiscard]] std::size_t segment_of(std::size_t slot) const {
    return (current_.positions[slot] - frame()) / static_cast<std::size_t>(options_.mask_length_tokens);
  }
  [[nodiscard]] double excess(double similarity, double perturbed) const {
    const double delta = options_.delta_relative > 0 ? options_.delta_relative * std::abs(similarity) : options_.delta;
    return std::max(0.0, similarity - perturbed - delta);
  }
  [[nodiscard]] double value_of(const State& state) const {
    double sum = 0;
    for (const double perturbed : state.perturbed) sum += excess(state.similarity, perturbed);
    return state.similarity - options_.penalty * sum;
  }

  void take(const Version& version, State state) {
    current_ = version;
    state_ = std::move(state);
    similarity_gradient_.forget();
  }

  Result<std::vector<double>> embed(const std::vector<std::vector<TokenId>>& sequences) {
    for (const auto& ids : sequences) costs_.forward_tokens += ids.size();
    const auto embedded = encoder_.encode_tokens(sequences);
    if (!embedded) return embedded.error();
    std::vector<double> out;
    for (std::size_t i = 0; i < sequences.size(); ++i) out.push_back(similarity_to(target_, embedded->row(i)));
    return out;
  }

  /// Similarity of the passage, and of it with each of the segments `which` perturbed.
  Status measure(const Version& version, const std::vector<std::size_t>& which, State& out) {
    std::vector<std::vector<TokenId>> sequences = {version.ids};
    const auto m = static_cast<std::size_t>(options_.mask_length_tokens);
    const std::size_t end = version.ids.size() - suffix();
    for (const std::size_t s : which) {
      std::vector<TokenId> ids = version.ids;
      const auto first = ids.begin() + static_cast<std::ptrdiff_t>(frame() + s * m);
      const auto last = ids.begin() + static_cast<std::ptrdiff_t>(std::min(frame() + (s + 1) * m, end));
      if (options_.delete_segments) {
        ids.erase(first, last);
      } else {
        std::fill(first, last, encoder_.tokenizer().mask_id());
      }
      sequences.push_back(std::move(ids));
    }
    const auto found = embed(sequences);
    if (!found) return found.error();
    out.similarity = found->front();
    for (std::size_t i = 0; i < which.size(); ++i) out.perturbed[which[i]] = (*found)[i + 1];
    return {};
  }

  const DifferentiableEncoder& encoder_;
  std::span<const float> target_;
  HotFlipOptions options_;
  Version current_;
  State state_;
  SimilarityGradient similarity_gradient_;
};

}  // namespace

std::unique_ptr<PoisonObjective> make_ragmask_objective(const DifferentiableEncoder& encoder,
                                                        std::span<const float> target, const HotFlipOptions& options) {
  return std::make_unique<RagMaskObjective>(encoder, target, options);
}

}  // namespace casemate
