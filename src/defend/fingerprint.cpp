#include "casemate/defend/fingerprint.h"

#include <algorithm>
#include <cmath>

#include "defend/candidate_vectors.h"
#include "defend/fingerprint_ranking.h"
#include "defend/makers.h"
#include "defend/sealed_set.h"

namespace casemate {
namespace {

constexpr std::array<std::pair<std::string_view, UnlikePolicy>, 3> kUnlikePolicies = {
    {{"keep", UnlikePolicy::kKeep}, {"penalty", UnlikePolicy::kPenalty}, {"quarantine", UnlikePolicy::kQuarantine}}};

Result<std::optional<PublicKey>> parse_key(const std::string& hex) {
  if (hex.empty()) return std::optional<PublicKey>();
  const auto bytes = from_hex(hex);
  PublicKey key{};
  if (!bytes || bytes->size() != key.size()) {
    return Error{ErrorCode::kInvalidOption,
                 "fingerprint.public_key must be the 64 hexadecimal digits of a public key (KEYFILE.pub has them)"};
  }
  std::copy(bytes->begin(), bytes->end(), key.begin());
  return std::optional<PublicKey>(key);
}

Status check(const FingerprintOptions& options) {
  struct Field {
    const char* name;
    double value;
    double low;
    double high;
  };
  const std::array fields = {Field{"pool_size", static_cast<double>(options.pool_size), 1, 1000},
                             Field{"near_copy_jaccard", options.near_copy_jaccard, 1e-9, 1},
                             Field{"near_copy_contained", options.near_copy_contained, 1e-9, 1},
                             Field{"near_copy_cosine", options.near_copy_cosine, 1e-9, 1},
                             Field{"unlike_p", options.unlike_p, 0, 1},
                             Field{"penalty", options.penalty, 0, 1000},
                             Field{"max_examined", static_cast<double>(options.max_examined), 1, 10'000}};
  for (const Field& field : fields) {
    if (Status good = check_range(std::string("fingerprint.") + field.name, field.value, field.low, field.high); !good)
      return good;
  }
  return {};
}

/// One tenant's damaged or foreign seal is that tenant's trouble, told when it asks. Error: where no tenant has a seal
/// that can be read, what `read_seal` says of the first, or InvalidArgument.
Status check_seals(const Store& store, const std::optional<PublicKey>& expected) {
  const auto tenants = store.tenants();
  if (!tenants) return tenants.error();
  bool any = false;
  std::optional<Error> first_error;
  for (const std::string& tenant : *tenants) {
    const auto seal = read_seal(store, tenant, expected);
    if (!seal && !first_error) first_error = seal.error();
    any = any || (seal && seal->has_value());
  }
  if (any) return {};
  if (first_error) return *first_error;
  return Error{ErrorCode::kInvalidArgument, "fingerprint compares with sealed documents, and " + store.path() +
                                                " has no seal: casemate index PATH --store " + store.path() +
                                                " --trusted marks documents, casemate seal " + store.path() +
                                                " --key KEYFILE seals them"};
}

}  // namespace

struct Fingerprint::State {
  FingerprintOptions options;
  const Store& store;
  const ThreadPool& pool;
  mutable SealedSets sets;  // a cache that locks for itself
};

Fingerprint::Fingerprint(std::unique_ptr<State> state) : state_(std::move(state)) {}
Fingerprint::~Fingerprint() = default;

Result<std::unique_ptr<Fingerprint>> Fingerprint::create(const FingerprintOptions& options,
                                                         const DefenceServices& services) {
  if (Status good = check(options); !good) return good.error();
  const auto expected = parse_key(options.public_key);
  if (!expected) return expected.error();
  if (services.store == nullptr || services.pool == nullptr)
    return Error{ErrorCode::kInvalidArgument, "fingerprint needs a store with a seal, and threads"};
  if (Status good = check_seals(*services.store, *expected); !good) return good.error();
  auto state = std::unique_ptr<State>(
      new State{options, *services.store, *services.pool, SealedSets(*services.store, *services.pool, *expected)});
  return std::unique_ptr<Fingerprint>(new Fingerprint(std::move(state)));  // private constructor; owned at once
}

Parameters Fingerprint::parameters() const {
  const FingerprintOptions& options = state_->options;
  std::string unlike;
  for (const auto& [name, policy] : kUnlikePolicies) {
    if (policy == options.unlike) unlike = name;
  }
  return {{"pool_size", std::to_string(options.pool_size)},
          {"near_copy_jaccard", parameter_text(options.near_copy_jaccard)},
          {"near_copy_contained", parameter_text(options.near_copy_contained)},
          {"near_copy_cosine", parameter_text(options.near_copy_cosine)},
          {"unlike", unlike},
          {"unlike_p", parameter_text(options.unlike_p)},
          {"penalty", parameter_text(options.penalty)},
          {"max_examined", std::to_string(options.max_examined)},
          {"public_key", options.public_key.empty() ? "any" : options.public_key}};
}

int Fingerprint::pool_size(int top_k) const noexcept { return std::max(top_k, state_->options.pool_size); }

Result<DefendedRanking> Fingerprint::rank(const DefenceQuery& query, std::span<const PassageCandidate> candidates,
                                          int top_k, std::stop_token stop) const {
  if (!all_finite(query.embedding))
    return Error{ErrorCode::kInvalidArgument, "fingerprint: the query's embedding is not finite"};
  const auto set = state_->sets.get(query.tenant, stop);
  if (!set) return set.error();
  FingerprintRanking ranking(state_->options, state_->store, state_->pool, **set, query, std::move(stop));
  return ranking.run(candidates, static_cast<std::size_t>(std::max(pool_size(top_k), 0)),
                     static_cast<std::size_t>(std::max(top_k, 0)));
}

MadeDefence make_fingerprint(const YamlValue& map, const DefenceServices& services) {
  FingerprintOptions out;
  std::string unlike;
  YamlOptions options(map);
  options.read("pool_size", out.pool_size, 1, 1000)
      .read("near_copy_jaccard", out.near_copy_jaccard, 0.0, 1.0)
      .read("near_copy_contained", out.near_copy_contained, 0.0, 1.0)
      .read("near_copy_cosine", out.near_copy_cosine, 0.0, 1.0)
      .read("unlike", unlike)
      .read("unlike_p", out.unlike_p, 0.0, 1.0)
      .read("penalty", out.penalty, 0.0, 1000.0)
      .read("max_examined", out.max_examined, 1, 10'000)
      .read("public_key", out.public_key);
  if (Status read = options.finish(); !read) return read.error();
  if (Status read = read_choice(unlike, "fingerprint.unlike", kUnlikePolicies, out.unlike); !read) return read.error();
  auto made = Fingerprint::create(out, services);
  if (!made) return made.error();
  return std::unique_ptr<RetrievalDefence>(*std::move(made));
}

}  // namespace casemate
