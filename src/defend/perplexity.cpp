#include "casemate/defend/perplexity.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "casemate/defend/calibration.h"
#include "casemate/defend/passage_cache.h"
#include "defend/candidate_vectors.h"
#include "defend/model_identity.h"

namespace casemate {
namespace {

/// "none" or the number; anything else is no entry of ours.
std::optional<std::optional<double>> read_entry(const std::string& text) {
  if (text == "none") return std::optional<double>();
  double value = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end.ec != std::errc() || end.ptr != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return std::optional<double>(value);
}

}  // namespace

Result<std::optional<double>> perplexity_of(LanguageModel& model, const UntrustedText& text, std::stop_token stop) {
  auto tokens = model.tokenize(text.for_prompt(), SpecialTokens::kAsText);
  if (!tokens) return tokens.error();
  std::span<const TokenId> ids = tokens->ids;
  if (model.info().context_tokens > 1) ids = ids.first(std::min(ids.size(), model.info().context_tokens - 1));
  if (ids.size() < 2) return std::optional<double>();
  const auto score = model.score_continuation(ids.first(1), ids.subspan(1), std::move(stop));
  if (!score) return score.error();
  return std::optional<double>(std::exp(std::min(score->loss, 700.0)));
}

Result<std::unique_ptr<Perplexity>> Perplexity::create(const PerplexityOptions& options,
                                                       const DefenceServices& services) {
  if (Status good = check_range("perplexity.pool_size", options.pool_size, 1, 1000); !good) return good.error();
  if (options.max_perplexity) {
    if (Status good = check_range("perplexity.max_perplexity", *options.max_perplexity, 1, 1e300); !good)
      return good.error();
  }
  if (services.model == nullptr)
    return Error{ErrorCode::kInvalidArgument, "perplexity needs a language model (--model)"};
  if (Status able = require(*services.model, {Feature::kTokens, Feature::kContinuationLoss}, "perplexity"); !able)
    return able.error();
  return std::unique_ptr<Perplexity>(new Perplexity(options, services));  // private constructor; owned at once
}

std::string Perplexity::calibration_setting(const LanguageModel& model) { return "model=" + model_identity(model); }

Parameters Perplexity::parameters() const {
  return {{"pool_size", std::to_string(options_.pool_size)},
          {"max_perplexity", options_.max_perplexity ? parameter_text(*options_.max_perplexity) : "calibrated"},
          {"model", services_.model->info().name}};
}

int Perplexity::pool_size(int top_k) const noexcept { return std::max(top_k, options_.pool_size); }

Result<std::optional<double>> Perplexity::cached(std::string_view tenant, const PassageCandidate& passage,
                                                 bool& computed, std::stop_token stop) const {
  const std::string key =
      "perplexity/1 " + model_identity(*services_.model) + " " + to_hex(blake2b(passage.text.bytes()));
  computed = false;
  if (services_.cache != nullptr) {
    const auto found = services_.cache->get(tenant, passage.content_hash, key);
    const auto entry = found ? read_entry(*found) : std::nullopt;
    if (entry) return *entry;
  }
  computed = true;
  const auto value = perplexity_of(*services_.model, passage.text, std::move(stop));
  if (!value) return value.error();
  if (services_.cache != nullptr) {
    const CacheEntry entry{passage.content_hash, key, *value ? parameter_text(**value) : "none"};
    services_.cache->put(tenant, std::span(&entry, 1));
  }
  return *value;
}

Result<DefendedRanking> Perplexity::rank(const DefenceQuery& query, std::span<const PassageCandidate> candidates,
                                         int top_k, std::stop_token stop) const {
  double threshold = 0;
  if (options_.max_perplexity) {
    threshold = *options_.max_perplexity;
  } else {
    const auto value = calibrated_value(services_.store, query.tenant, name(), calibration_setting(*services_.model));
    if (!value) return value.error();
    threshold = *value;
  }
  DefendedRanking ranking;
  const auto pool = pool_of(candidates, pool_size(top_k));
  for (std::size_t i = 0; i < pool.size(); ++i) {
    if (ranking.passages.size() == static_cast<std::size_t>(top_k)) break;
    if (stop.stop_requested()) return cancelled(name());
    bool computed = false;
    const auto value = cached(query.tenant, pool[i], computed, stop);
    if (!value) return value.error();
    const bool unlikely = *value && **value > threshold;
    Verdict verdict = verdict_of(pool[i], unlikely ? Decision::kDropped : Decision::kKept,
                                 !*value    ? "too short to be judged"
                                 : unlikely ? "the language model finds its text unlikely"
                                            : "its text is likely enough");
    verdict.score = *value;
    verdict.threshold = threshold;
    if (!unlikely) ranking.passages.push_back({i, pool[i].score});
    ranking.verdicts.push_back(std::move(verdict));
  }
  return ranking;
}

Result<std::size_t> Perplexity::precompute(std::string_view tenant, std::span<const PassageCandidate> passages,
                                           std::stop_token stop) const {
  std::size_t made = 0;
  for (const PassageCandidate& passage : passages) {
    if (stop.stop_requested()) return cancelled(name());
    bool computed = false;
    const auto value = cached(tenant, passage, computed, stop);
    if (!value) return value.error();
    made += computed ? 1 : 0;
  }
  return made;
}

}  // namespace casemate
