#include "casemate/defend/fragment_recipe.h"

#include "casemate/text/fragments.h"

namespace casemate {
namespace {

constexpr int kMaxFragments = 20;
constexpr std::size_t kMaxCombinations = 1024;

std::string kind_of(const char* what, const FragmentOptions& options) {
  return std::string(what) + "-n" + std::to_string(options.count) +
         (options.unit == FragmentUnit::kWord ? "-word" : "-token");
}

/// Texts of the N fragments; the passage itself N times where it has no token.
Result<std::vector<std::string>> fragment_texts(std::string_view passage, const Encoder& encoder,
                                                const FragmentOptions& options, std::uint64_t* repeated) {
  const auto count = static_cast<std::size_t>(options.count);
  auto fragments = split_fragments(passage, encoder.tokenizer(), options);
  if (!fragments && fragments.error().code != ErrorCode::kInvalidInput) return fragments.error();
  if (repeated != nullptr && (!fragments || fragments->repeats())) ++*repeated;
  if (!fragments) return std::vector<std::string>(count, std::string(passage));
  std::vector<std::string> out;
  for (const ByteSpan& span : fragments->spans) out.emplace_back(passage.substr(span.begin, span.size()));
  return out;
}

class FragmentRecipe final : public VectorRecipe {
 public:
  FragmentRecipe(const Encoder& encoder, const FragmentOptions& options) : encoder_(encoder), options_(options) {}
  std::string kind() const override { return kind_of("fragments", options_); }
  int rows_per_chunk() const noexcept override { return options_.count; }

  Result<std::vector<float>> vectors(std::span<const std::string_view> texts, std::uint64_t* repeated,
                                     std::stop_token stop) const override {
    std::vector<std::string> pieces;
    for (const std::string_view text : texts) {
      if (stop.stop_requested()) return Error{ErrorCode::kCancelled, "stopped"};
      auto fragments = fragment_texts(text, encoder_, options_, repeated);
      if (!fragments) return fragments.error();
      for (std::string& fragment : *fragments) pieces.push_back(std::move(fragment));
    }
    const std::vector<std::string_view> views(pieces.begin(), pieces.end());
    auto encoded = encoder_.encode_passages(views);
    if (!encoded) return encoded.error();
    return std::move(encoded->embeddings.values);
  }

 private:
  const Encoder& encoder_;
  FragmentOptions options_;
};

/// The next combination in lexicographic order of `chosen` out of n; false after the last.
bool advance(std::vector<std::size_t>& chosen, std::size_t n) {
  const std::size_t k = chosen.size();
  for (std::size_t i = k; i-- > 0;) {
    if (chosen[i] == n - k + i) continue;
    ++chosen[i];
    for (std::size_t j = i + 1; j < k; ++j) chosen[j] = chosen[j - 1] + 1;
    return true;
  }
  return false;
}

std::vector<std::vector<std::size_t>> combinations(std::size_t n, std::size_t k) {
  std::vector<std::vector<std::size_t>> out;
  std::vector<std::size_t> chosen(k);
  for (std::size_t i = 0; i < k; ++i) chosen[i] = i;
  do {
    out.push_back(chosen);
  } while (out.size() <= kMaxCombinations && advance(chosen, n));
  return out;
}

class CombinationRecipe final : public VectorRecipe {
 public:
  CombinationRecipe(const Encoder& encoder, const FragmentOptions& options, int k,
                    std::vector<std::vector<std::size_t>> subsets)
      : encoder_(encoder), options_(options), k_(k), subsets_(std::move(subsets)) {}
  std::string kind() const override { return kind_of("naive", options_) + "-k" + std::to_string(k_); }
  int rows_per_chunk() const noexcept override { return static_cast<int>(subsets_.size()); }

  Result<std::vector<float>> vectors(std::span<const std::string_view> texts, std::uint64_t* repeated,
                                     std::stop_token stop) const override {
    std::vector<float> out;
    for (const std::string_view text : texts) {
      if (stop.stop_requested()) return Error{ErrorCode::kCancelled, "stopped"};
      const auto fragments = fragment_texts(text, encoder_, options_, repeated);
      if (!fragments) return fragments.error();
      std::vector<std::string> joined;
      for (const std::vector<std::size_t>& subset : subsets_) {
        std::string& mix = joined.emplace_back();
        for (const std::size_t i : subset) mix += (mix.empty() ? "" : " ") + (*fragments)[i];
      }
      const std::vector<std::string_view> views(joined.begin(), joined.end());
      const auto encoded = encoder_.encode_passages(views);
      if (!encoded) return encoded.error();
      out.insert(out.end(), encoded->embeddings.values.begin(), encoded->embeddings.values.end());
    }
    return out;
  }

 private:
  const Encoder& encoder_;
  FragmentOptions options_;
  int k_;
  std::vector<std::vector<std::size_t>> subsets_;
};

Status check_count(const FragmentOptions& options) {
  if (options.count >= 1 && options.count <= kMaxFragments) return {};
  return Error{ErrorCode::kInvalidOption, "fragments is " + std::to_string(options.count) + ", it must be in 1 to " +
                                              std::to_string(kMaxFragments)};
}

}  // namespace

Result<std::unique_ptr<VectorRecipe>> make_fragment_recipe(const Encoder& encoder, const FragmentOptions& options) {
  if (Status good = check_count(options); !good) return good.error();
  return std::unique_ptr<VectorRecipe>(std::make_unique<FragmentRecipe>(encoder, options));
}

Result<std::unique_ptr<VectorRecipe>> make_combination_recipe(const Encoder& encoder, const FragmentOptions& options,
                                                              int k) {
  if (Status good = check_count(options); !good) return good.error();
  if (k < 1 || k > options.count) {
    return Error{
        ErrorCode::kInvalidOption,
        "k is " + std::to_string(k) + ", it must be in 1 to the number of fragments, " + std::to_string(options.count)};
  }
  auto subsets = combinations(static_cast<std::size_t>(options.count), static_cast<std::size_t>(k));
  if (subsets.size() > kMaxCombinations) {
    return Error{ErrorCode::kInvalidOption, "C(" + std::to_string(options.count) + ", " + std::to_string(k) +
                                                ") is above " + std::to_string(kMaxCombinations) +
                                                " embeddings a passage; use ragpart, which needs none of them"};
  }
  return std::unique_ptr<VectorRecipe>(std::make_unique<CombinationRecipe>(encoder, options, k, std::move(subsets)));
}

}  // namespace casemate
