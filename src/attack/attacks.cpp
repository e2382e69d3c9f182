#include "casemate/attack/attacks.h"

#include <array>

#include "casemate/attack/corpus_poisons.h"
#include "casemate/attack/query_as_poison.h"
#include "casemate/attack/query_noise.h"
#include "casemate/core/nearest_name.h"

namespace casemate {
namespace {

using MadeAttack = Result<std::unique_ptr<Attack>>;

template <class T>
MadeAttack upcast(Result<std::unique_ptr<T>> made) {
  if (!made) return made.error();
  return std::unique_ptr<Attack>(*std::move(made));
}

MadeAttack make_contradictory(const YamlValue& map) {
  ContradictoryOptions out;
  YamlOptions options(map);
  options.read("rate", out.rate, 0.0, 1.0);
  if (Status read = options.finish(); !read) return read.error();
  return upcast(Contradictory::create(out));
}

MadeAttack make_irrelevant(const YamlValue& map) {
  IrrelevantOptions out;
  YamlOptions options(map);
  options.read("rate", out.rate, 0.0, 1.0);
  if (Status read = options.finish(); !read) return read.error();
  return upcast(Irrelevant::create(out));
}

MadeAttack make_near_duplicate(const YamlValue& map) {
  NearDuplicateOptions out;
  YamlOptions options(map);
  options.read("rate", out.rate, 0.0, 1.0).read("edits", out.edits, 0, 100);
  if (Status read = options.finish(); !read) return read.error();
  return upcast(NearDuplicate::create(out));
}

MadeAttack make_query_as_poison(const YamlValue& map) {
  QueryAsPoisonOptions out;
  std::string place = "start";
  YamlOptions options(map);
  options.read("place", place)
      .read("repeat", out.repeat, 1, 100)
      .read("documents_per_query", out.documents_per_query, 1, 100);
  if (Status read = options.finish(); !read) return read.error();
  if (place == "start") {
    out.place = PoisonPlace::kStart;
  } else if (place == "middle") {
    out.place = PoisonPlace::kMiddle;
  } else if (place == "end") {
    out.place = PoisonPlace::kEnd;
  } else {
    return map.error(ErrorCode::kInvalidOption, "place must be one of start, middle, end");
  }
  return upcast(QueryAsPoison::create(out));
}

MadeAttack make_query_noise(const YamlValue& map) {
  QueryNoiseOptions out;
  YamlOptions options(map);
  options.read("sigma", out.sigma, 0.0, 10.0);
  if (Status read = options.finish(); !read) return read.error();
  return upcast(QueryNoise::create(out));
}

constexpr std::array kAttacks = {
    AttackEntry{"contradictory", "copies of passages with a right answer swapped for a wrong one",
                AttackAccess::kCorpusOnly, "AML.T0070 AML.T0071", "LLM04 LLM08", "LLM05 LLM09", make_contradictory},
    AttackEntry{"irrelevant", "copies of passages with their words shuffled", AttackAccess::kCorpusOnly, "AML.T0070",
                "LLM04 LLM08", "LLM05 LLM09", make_irrelevant},
    AttackEntry{"near-duplicate", "copies of passages, verbatim or with words left out", AttackAccess::kCorpusOnly,
                "AML.T0070 AML.T0071", "LLM04 LLM08", "LLM05 LLM09", make_near_duplicate},
    AttackEntry{"query-as-poison", "the query itself inside irrelevant documents", AttackAccess::kBlackBox,
                "AML.T0070 AML.T0066", "LLM04 LLM08", "LLM05 LLM09", make_query_as_poison},
    AttackEntry{"query-noise", "Gaussian noise on the embeddings of queries", AttackAccess::kWhiteBox, "", "LLM08",
                "LLM09", make_query_noise},
};

}  // namespace

std::span<const AttackEntry> attacks() noexcept { return kAttacks; }

Result<const AttackEntry*> find_attack(std::string_view name) {
  std::vector<std::string_view> known;
  for (const AttackEntry& entry : kAttacks) {
    if (entry.name == name) return &entry;
    known.push_back(entry.name);
  }
  return Error{ErrorCode::kNotFound,
               "there is no attack \"" + UntrustedText(std::string(name)).for_log() + "\"" + name_hint(name, known)};
}

Result<AttackChoice> parse_attack(std::string_view text) {
  const std::size_t open = text.find('{');
  AttackChoice choice;
  choice.name = std::string(text.substr(0, open));
  while (!choice.name.empty() && (choice.name.back() == ' ' || choice.name.back() == ':')) choice.name.pop_back();
  if (open != std::string_view::npos) choice.options = std::string(text.substr(open));
  const auto entry = find_attack(choice.name);
  if (!entry) return entry.error();
  const auto options = YamlValue::parse(choice.options, choice.name + " options");
  if (!options) return options.error();
  if (!options->is_map() && !options->is_null())
    return Error{ErrorCode::kInvalidInput, choice.name + ": options are written as {name: value, ...}"};
  return choice;
}

Result<std::unique_ptr<Attack>> create_attack(const AttackChoice& choice) {
  const auto entry = find_attack(choice.name);
  if (!entry) return entry.error();
  const auto options = YamlValue::parse(choice.options, choice.name + " options");
  if (!options) return options.error();
  return (*entry)->create(*options);
}

}  // namespace casemate
