#include "casemate/defend/defences.h"

#include <array>

#include "casemate/core/nearest_name.h"
#include "casemate/defend/cluster.h"
#include "casemate/defend/consistency.h"
#include "casemate/defend/rerank.h"
#include "casemate/defend/suppression.h"

namespace casemate {
namespace {

using Defence = Result<std::unique_ptr<RetrievalDefence>>;

/// Error: InvalidOption, listing what may stand there.
template <class Enum, std::size_t n>
Status read_choice(const std::string& text, std::string_view field,
                   const std::array<std::pair<std::string_view, Enum>, n>& choices, Enum& out) {
  if (text.empty()) return {};
  std::string known;
  for (const auto& [name, value] : choices) {
    if (name == text) {
      out = value;
      return {};
    }
    known += (known.empty() ? "" : ", ") + std::string(name);
  }
  return Error{ErrorCode::kInvalidOption,
               std::string(field) + " is \"" + UntrustedText(text).for_log() + "\", it must be one of " + known};
}

template <class T>
Defence upcast(Result<std::unique_ptr<T>> made) {
  if (!made) return made.error();
  return std::unique_ptr<RetrievalDefence>(*std::move(made));
}

Defence make_suppression(const YamlValue& map, const DefenceServices& /*services*/) {
  SuppressionOptions out;
  YamlOptions options(map);
  options.read("pool_size", out.pool_size, 1, 1000).read("max_cosine", out.max_cosine, 0.0, 1.0);
  if (Status read = options.finish(); !read) return read.error();
  return upcast(Suppression::create(out));
}

Defence make_cluster(const YamlValue& map, const DefenceServices& /*services*/) {
  ClusterOptions out;
  YamlOptions options(map);
  options.read("pool_size", out.pool_size, 1, 200)
      .read("min_cosine", out.min_cosine, -1.0, 1.0)
      .read("min_rouge_l", out.min_rouge_l, 0.0, 1.0);
  if (Status read = options.finish(); !read) return read.error();
  return upcast(Cluster::create(out));
}

Defence make_rerank(const YamlValue& map, const DefenceServices& services) {
  RerankOptions out;
  std::string by;
  YamlOptions options(map);
  options.read("pool_size", out.pool_size, 1, 1000).read("by", by);
  if (Status read = options.finish(); !read) return read.error();
  constexpr std::array<std::pair<std::string_view, RerankBy>, 2> kChoices = {
      {{"likelihood", RerankBy::kLikelihood}, {"cross-encoder", RerankBy::kCrossEncoder}}};
  if (Status read = read_choice(by, "rerank.by", kChoices, out.by); !read) return read.error();
  return upcast(Rerank::create(out, services));
}

Defence make_consistency(const YamlValue& map, const DefenceServices& services) {
  ConsistencyOptions out;
  YamlOptions options(map);
  options.read("pool_size", out.pool_size, 1, 100)
      .read("min_f1", out.min_f1, 0.0, 1.0)
      .read("min_agreeing", out.min_agreeing, 2, 100)
      .read("max_new_tokens", out.max_new_tokens, 1, 200);
  if (Status read = options.finish(); !read) return read.error();
  return upcast(Consistency::create(out, services));
}

constexpr std::array kDefences = {
    DefenceEntry{"cluster", "drops passages that resemble each other more than real ones do (TrustRAG)", false, false,
                 make_cluster, nullptr},
    DefenceEntry{"consistency", "keeps passages whose answers to the query agree", false, true, make_consistency,
                 nullptr},
    DefenceEntry{"rerank", "ranks the pool anew by a cross-encoder or a language model", false, true, make_rerank,
                 nullptr},
    DefenceEntry{"suppression", "drops near copies of better-ranked passages, as published", false, false,
                 make_suppression, nullptr},
};

Result<YamlValue> options_of(const DefenceChoice& choice) {
  return YamlValue::parse(choice.options, choice.name + " options");
}

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
  const auto options = options_of(choice);
  if (!entry || !options || !(*entry)->needs_model) return false;
  const auto by = options->find("by");
  if (!by) return true;
  const auto judge = by->text();
  return judge.ok() && *judge == "likelihood";
}

Result<DefenceChoice> parse_defence(std::string_view text) {
  const std::size_t open = text.find('{');
  DefenceChoice choice;
  choice.name = std::string(text.substr(0, open));
  while (!choice.name.empty() && (choice.name.back() == ' ' || choice.name.back() == ':')) choice.name.pop_back();
  if (open != std::string_view::npos) choice.options = std::string(text.substr(open));
  const auto entry = find_defence(choice.name);
  if (!entry) return entry.error();
  const auto options = options_of(choice);
  if (!options) return options.error();
  if (!options->is_map() && !options->is_null())
    return Error{ErrorCode::kInvalidInput, choice.name + ": options are written as {name: value, ...}"};
  return choice;
}

Result<std::unique_ptr<RetrievalDefence>> create_defence(const DefenceChoice& choice, const DefenceServices& services) {
  const auto entry = find_defence(choice.name);
  if (!entry) return entry.error();
  if ((*entry)->create == nullptr) return wrong_kind(**entry);
  const auto options = options_of(choice);
  if (!options) return options.error();
  return (*entry)->create(*options, services);
}

Result<std::unique_ptr<ScanDefence>> create_scan_defence(const DefenceChoice& choice, const DefenceServices& services) {
  const auto entry = find_defence(choice.name);
  if (!entry) return entry.error();
  if ((*entry)->create_scan == nullptr) return wrong_kind(**entry);
  const auto options = options_of(choice);
  if (!options) return options.error();
  return (*entry)->create_scan(*options, services);
}

}  // namespace casemate
