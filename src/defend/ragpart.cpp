#include "casemate/defend/ragpart.h"

#include "casemate/defend/fragment_recipe.h"
#include "defend/candidate_vectors.h"
#include "defend/vote_scan.h"

namespace casemate {
namespace {

const char* unit_name(FragmentUnit unit) { return unit == FragmentUnit::kWord ? "word" : "token"; }

Parameters fragment_parameters(int fragments, FragmentUnit unit, int combination, RagPartAggregation aggregation) {
  return {{"fragments", std::to_string(fragments)},
          {"unit", unit_name(unit)},
          {"combination", std::to_string(combination)},
          {"aggregation", std::string(ragpart_aggregation_name(aggregation))}};
}

Error no_encoder(const char* name) {
  return {ErrorCode::kInvalidArgument, std::string(name) + " scans embeddings: it needs the store's encoder"};
}

}  // namespace

RagPart::RagPart(const RagPartOptions& options, std::unique_ptr<VoteScan> scan)
    : options_(options), scan_(std::move(scan)) {}
RagPart::~RagPart() = default;

Result<std::unique_ptr<RagPart>> RagPart::create(const RagPartOptions& options, const DefenceServices& services) {
  if (Status good = check_range("ragpart.combination", options.combination, 1, options.fragments); !good)
    return good.error();
  if (services.encoder == nullptr) return no_encoder("ragpart");
  auto recipe = make_fragment_recipe(*services.encoder, {options.fragments, options.unit});
  if (!recipe) return recipe.error();
  auto scan = std::make_unique<VoteScan>("ragpart", *std::move(recipe), options.renormalise);
  return std::unique_ptr<RagPart>(new RagPart(options, std::move(scan)));  // private constructor; owned at once
}

Parameters RagPart::parameters() const {
  Parameters out = fragment_parameters(options_.fragments, options_.unit, options_.combination, options_.aggregation);
  out.emplace_back("renormalise", options_.renormalise ? "true" : "false");
  return out;
}

const VectorRecipe& RagPart::recipe() const noexcept { return scan_->recipe(); }

RagPartSearchOptions RagPart::search_options(const DefenceQuery& query, int top_k) const {
  RagPartSearchOptions search;
  search.combination = options_.combination;
  search.top_p = top_k;
  search.aggregation = options_.aggregation;
  search.seed = query.seed;
  return search;
}

Result<ScanOutcome> RagPart::scan(const Store& store, const DefenceQuery& query, int top_k, const ChunkSet* allowed,
                                  const ThreadPool& pool, std::stop_token stop) const {
  if (stop.stop_requested()) return cancelled(name());
  return scan_->scan(store, query, search_options(query, top_k), allowed, pool);
}

Result<RagPartRanking> RagPart::ranking(const Store& store, const DefenceQuery& query, int top_k,
                                        const ChunkSet* allowed, const ThreadPool& pool) const {
  RagPartSearchOptions search = search_options(query, top_k);
  search.keep_lists = true;
  return scan_->ranking(store, query, search, allowed, pool);
}

Naive::Naive(const NaiveOptions& options, std::unique_ptr<VoteScan> scan) : options_(options), scan_(std::move(scan)) {}
Naive::~Naive() = default;

Result<std::unique_ptr<Naive>> Naive::create(const NaiveOptions& options, const DefenceServices& services) {
  if (Status good = check_range("naive.combination", options.combination, 1, options.fragments); !good)
    return good.error();
  if (services.encoder == nullptr) return no_encoder("naive");
  auto recipe = make_combination_recipe(*services.encoder, {options.fragments, options.unit}, options.combination);
  if (!recipe) return recipe.error();
  if ((*recipe)->rows_per_chunk() > kMaxRagPartFragments) {
    return Error{ErrorCode::kInvalidOption, "naive makes " + std::to_string((*recipe)->rows_per_chunk()) +
                                                " embeddings a passage with these "
                                                "options, at most " +
                                                std::to_string(kMaxRagPartFragments) +
                                                " are possible; use ragpart, which needs one a fragment"};
  }
  auto scan = std::make_unique<VoteScan>("naive", *std::move(recipe), false);
  return std::unique_ptr<Naive>(new Naive(options, std::move(scan)));  // private constructor; owned at once
}

Parameters Naive::parameters() const {
  return fragment_parameters(options_.fragments, options_.unit, options_.combination, options_.aggregation);
}

const VectorRecipe& Naive::recipe() const noexcept { return scan_->recipe(); }

Result<ScanOutcome> Naive::scan(const Store& store, const DefenceQuery& query, int top_k, const ChunkSet* allowed,
                                const ThreadPool& pool, std::stop_token stop) const {
  if (stop.stop_requested()) return cancelled(name());
  RagPartSearchOptions search;
  search.combination = 1;  // each joined text has a list of its own
  search.top_p = top_k;
  search.aggregation = options_.aggregation;
  search.seed = query.seed;
  return scan_->scan(store, query, search, allowed, pool);
}

}  // namespace casemate
