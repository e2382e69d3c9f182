#include <map>
#include <string>

#include "attack/poison_objective.h"

namespace casemate {
namespace {

class RagPartObjective final : public PoisonObjective {
 public:
  RagPartObjective(const DifferentiableEncoder& encoder, std::span<const float> target, const HotFlipOptions& options)
      : encoder_(encoder), target_(target), fragments_{options.fragments, options.unit} {}

  Result<double> start(const Version& version) override {
    known_.clear();
    const Version* one = &version;
    const auto found = values(std::span(&one, 1), 0);
    if (!found) return found.error();
    if (Status taken = take(version); !taken) return taken.error();
    return found->front();
  }

  Result<std::vector<float>> gradient(std::size_t slot) override {
    const std::size_t byte = current_.slot_bytes[slot].begin;
    const auto fragments = split_fragments(current_.text, encoder_.tokenizer(), fragments_);
    if (!fragments) return fragments.error();
    std::vector<float> out;
    for (std::size_t f = 0; f < fragments->spans.size(); ++f) {
      const ByteSpan& span = fragments->spans[f];
      // Where fragments repeat, the last one weighs more, which does not change the order of candidates.
      if (byte < span.begin || byte >= span.end) continue;
      const std::string text = current_.text.substr(span.begin, span.size());
      const ReadPassage read = read_passage(encoder_, text);
      const auto found = gradients_of(text, read.ids);
      if (!found) return found.error();
      for (std::size_t t = 0; t < read.ids.size(); ++t) {
        if (read.spans[t].begin > byte - span.begin || read.spans[t].end <= byte - span.begin) continue;
        const auto row = std::span((*found)->gradients).subspan(t * (*found)->hidden, (*found)->hidden);
        out.assign(row.begin(), row.end());
        break;
      }
      break;
    }
    return out;
  }

  Result<std::vector<double>> values(std::span<const Version* const> versions, std::size_t /*slot*/) override {
    std::vector<std::vector<std::string>> pieces;
    std::vector<std::string_view> unknown;
    for (const Version* version : versions) {
      auto texts = fragment_texts(version->text);
      if (!texts) return texts.error();
      pieces.push_back(*std::move(texts));
    }
    tried_.clear();
    for (const auto& texts : pieces) {
      for (const std::string& text : texts) {
        if (!known_.contains(text) && tried_.try_emplace(text, 0).second) unknown.emplace_back(text);
      }
    }
    if (!unknown.empty()) {
      const auto encoded = encoder_.encode_passages(unknown);
      if (!encoded) return encoded.error();
      for (std::size_t i = 0; i < unknown.size(); ++i) {
        costs_.forward_tokens += encoded->inputs[i].input_ids.size();
        tried_.find(unknown[i])->second = similarity_to(target_, encoded->embeddings.row(i));
      }
    }
    std::vector<double> out;
    for (const auto& texts : pieces) {
      double sum = 0;
      for (const std::string& text : texts) sum += similarity_of(text);
      out.push_back(sum / static_cast<double>(texts.size()));
    }
    return out;
  }

  Result<std::optional<double>> accept(const Version& version, std::size_t /*slot*/, double value,
                                       double least) override {
    if (value <= least) return std::optional<double>();
    if (Status taken = take(version); !taken) return taken.error();
    return std::optional(value);
  }

 private:
  Result<std::vector<std::string>> fragment_texts(const std::string& text) const {
    const auto fragments = split_fragments(text, encoder_.tokenizer(), fragments_);
    if (!fragments) return fragments.error();
    std::vector<std::string> out;
    for (const ByteSpan& span : fragments->spans) out.push_back(text.substr(span.begin, span.size()));
    return out;
  }

  [[nodiscard]] double similarity_of(const std::string& text) const {
    const auto it = known_.find(text);
    return it != known_.end() ? it->second : tried_.find(text)->second;
  }

  /// What is kept from one step to the next belongs to the current version alone, so that what a step costs does not
  /// depend on whether the search was interrupted.
  Status take(const Version& version) {
    const auto texts = fragment_texts(version.text);
    if (!texts) return texts.error();
    std::map<std::string, double> known;
    for (const std::string& text : *texts) known.emplace(text, similarity_of(text));
    known_ = std::move(known);
    current_ = version;
    gradients_.clear();
    return {};
  }

  /// Of a fragment of the current version.
  Result<const GradientResult*> gradients_of(const std::string& text, const std::vector<TokenId>& ids) {
    const auto it = gradients_.find(text);
    if (it != gradients_.end()) return &it->second;
    auto found = encoder_.gradient(std::span(&ids, 1), target_);
    if (!found) return found.error();
    costs_.forward_tokens += found->forward_tokens;
    costs_.backward_tokens += found->backward_tokens;
    return &gradients_.emplace(text, *std::move(found)).first->second;
  }

  const DifferentiableEncoder& encoder_;
  std::span<const float> target_;
  FragmentOptions fragments_;
  Version current_;
  std::map<std::string, double> known_;               ///< similarities of the current version's fragments
  std::map<std::string, double, std::less<>> tried_;  ///< and of those that were embedded last
  std::map<std::string, GradientResult> gradients_;   ///< of the current version's fragments
};

}  // namespace

std::unique_ptr<PoisonObjective> make_ragpart_objective(const DifferentiableEncoder& encoder,
                                                        std::span<const float> target, const HotFlipOptions& options) {
  return std::make_unique<RagPartObjective>(encoder, target, options);
}

}  // namespace casemate
