#include "casemate/defend/defences.h"

#include <array>

#include "casemate/core/named_options.h"
#include "casemate/core/nearest_name.h"
#include "defend/makers.h"

namespace casemate {
namespace {

constexpr std::array kDefences = {
    DefenceEntry{"cluster", "drops passages that resemble each other more than real ones do (TrustRAG)", false, false,
                 make_cluster, nullptr},
    DefenceEntry{"consistency", "keeps passages whose answers to the query agree", false, true, make_consistency,
                 nullptr},
    DefenceEntry{"fingerprint", "compares every candidate with the owner's sealed documents", false, false,
                 make_fingerprint, nullptr},
    DefenceEntry{"naive", "votes over joined fragments: the baseline of RAGPart's paper", true, false, nullptr,
                 make_naive},
    DefenceEntry{"paraphrase", "retrieves by paraphrases that a language model made of the passages", true, true,
                 nullptr, make_paraphrase},
    DefenceEntry{"perplexity", "drops passages that a language model finds unlikely", false, true, make_perplexity,
                 nullptr},
    DefenceEntry{"ragmask", "ranks by what is left when pieces that matter too much are masked", false, false,
                 make_ragmask, nullptr},
    DefenceEntry{"ragpart", "lets fragments of passages vote, so that a poison in few of them is outvoted", true, false,
                 nullptr, make_ragpart},
    DefenceEntry{"rerank", "ranks the pool anew by a cross-encoder or a language model", false, true, make_rerank,
                 nullptr},
    DefenceEntry{"suppression", "drops near copies of better-ranked passages, as published", false, false,
                 make_suppression, nullptr},
};

Error wrong_kind(const DefenceEntry& entry) {
  return {ErrorCode::kInvalidArgument,
          std::string(entry.name) + (entry.scans ? " takes the place of the scan: it must be the first defence"
                                                 : " ranks candidates, it cannot take the place of the scan")};
}

}  // namespace

std::span<const DefenceEntry> defences() noexcept { return kDefences; }

Result<const DefenceEntry*> find_defence(std::string_view name) {
  std::vector<std::string_view> known;
  for (const DefenceEntry& entry : kDefences) {
    if (entry.name == name) return &entry;
    known.push_back(entry.name);
  }
  return Error{ErrorCode::kNotFound,
               "there is no defence \"" + UntrustedText(std::string(name)).for_log() + "\"" + name_hint(name, known)};
}

bool needs_model(const DefenceChoice& choice) {
  const auto entry = find_defence(choice.name);
  const auto options = parse_named_options(choice.name, choice.options);
  if (!entry || !options || !(*entry)->needs_model || (*entry)->scans) return false;
  const auto by = options->find("by");
  if (!by) return true;
  const auto judge = by->text();
  return judge.ok() && *judge == "likelihood";
}

bool prepares_with_model(const DefenceChoice& choice) {
  const auto entry = find_defence(choice.name);
  return entry && (*entry)->needs_model && ((*entry)->scans || choice.name == "perplexity");
}

Result<DefenceChoice> parse_defence(std::string_view text) {
  NamedOptions parts = split_named_options(text);
  const auto entry = find_defence(parts.name);
  if (!entry) return entry.error();
  if (auto options = parse_named_options(parts.name, parts.options); !options) return options.error();
  return DefenceChoice{std::move(parts.name), std::move(parts.options)};
}

Result<std::unique_ptr<RetrievalDefence>> create_defence(const DefenceChoice& choice, const DefenceServices& services) {
  const auto entry = find_defence(choice.name);
  if (!entry) return entry.error();
  if ((*entry)->create == nullptr) return wrong_kind(**entry);
  const auto options = parse_named_options(choice.name, choice.options);
  if (!options) return options.error();
  return (*entry)->create(*options, services);
}

Result<std::unique_ptr<ScanDefence>> create_scan_defence(const DefenceChoice& choice, const DefenceServices& services) {
  const auto entry = find_defence(choice.name);
  if (!entry) return entry.error();
  if ((*entry)->create_scan == nullptr) return wrong_kind(**entry);
  const auto options = parse_named_options(choice.name, choice.options);
  if (!options) return options.error();
  return (*entry)->create_scan(*options, services);
}

}  // namespace casemate
