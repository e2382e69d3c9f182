#include "casemate/attack/attacks.h"

#include <array>

#include "attack/makers.h"
#include "casemate/core/named_options.h"
#include "casemate/core/nearest_name.h"

namespace casemate {
namespace {

constexpr std::array kAttacks = {
    AttackEntry{"advraggen", "irrelevant documents paraphrased by the language model so that they are retrieved",
                AttackAccess::kWhiteBox, "AML.T0070 AML.T0066", "LLM04 LLM08", "LLM05 LLM09", make_advraggen, true,
                true, true},
    AttackEntry{"contradictory", "copies of passages with a right answer swapped for a wrong one",
                AttackAccess::kCorpusOnly, "AML.T0070 AML.T0071", "LLM04 LLM08", "LLM05 LLM09", make_contradictory},
    AttackEntry{"hotflip", "tokens chosen by the retriever's gradient, in one place of irrelevant documents",
                AttackAccess::kWhiteBox, "AML.T0070 AML.T0066 AML.T0043.000", "LLM04 LLM08", "LLM05 LLM09",
                make_hotflip, false, true, true},
    AttackEntry{"hotflip-ragmask", "hotflip by an attacker who knows RAGMask", AttackAccess::kWhiteBox,
                "AML.T0070 AML.T0066 AML.T0043.000", "LLM04 LLM08", "LLM05 LLM09", make_hotflip_ragmask, false, true,
                true},
    AttackEntry{"hotflip-ragpart", "hotflip by an attacker who knows RAGPart", AttackAccess::kWhiteBox,
                "AML.T0070 AML.T0066 AML.T0043.000", "LLM04 LLM08", "LLM05 LLM09", make_hotflip_ragpart, false, true,
                true},
    AttackEntry{"hotflip-spread", "tokens chosen by the retriever's gradient, spread over irrelevant documents",
                AttackAccess::kWhiteBox, "AML.T0070 AML.T0066 AML.T0043.000", "LLM04 LLM08", "LLM05 LLM09",
                make_hotflip_spread, false, true, true},
    AttackEntry{"irrelevant", "copies of passages with their words shuffled", AttackAccess::kCorpusOnly, "AML.T0070",
                "LLM04 LLM08", "LLM05 LLM09", make_irrelevant},
    AttackEntry{"leak", "instructions to reveal what was retrieved, in queries or passages, with canaries",
                AttackAccess::kBlackBox, "AML.T0057 AML.T0051.001", "LLM01 LLM02", "LLM01 LLM02", make_leak},
    AttackEntry{"near-duplicate", "copies of passages, verbatim or with words left out", AttackAccess::kCorpusOnly,
                "AML.T0070 AML.T0071", "LLM04 LLM08", "LLM05 LLM09", make_near_duplicate},
    AttackEntry{"pia", "an injected instruction to answer with a wrong answer", AttackAccess::kBlackBox,
                "AML.T0051.001 AML.T0070", "LLM01 LLM04", "LLM01 LLM05", make_pia, false, false},
    AttackEntry{"poison", "text that supports a wrong answer, by the language model where the data has none",
                AttackAccess::kBlackBox, "AML.T0070 AML.T0071", "LLM04 LLM08", "LLM05 LLM09", make_poison, true, false},
    AttackEntry{"query-as-poison", "the query itself inside irrelevant documents", AttackAccess::kBlackBox,
                "AML.T0070 AML.T0066", "LLM04 LLM08", "LLM05 LLM09", make_query_as_poison},
    AttackEntry{"query-noise", "Gaussian noise on the embeddings of queries", AttackAccess::kWhiteBox, "", "LLM08",
                "LLM09", make_query_noise, false, false},
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
  NamedOptions parts = split_named_options(text);
  const auto entry = find_attack(parts.name);
  if (!entry) return entry.error();
  if (auto options = parse_named_options(parts.name, parts.options); !options) return options.error();
  return AttackChoice{std::move(parts.name), std::move(parts.options)};
}

Result<std::unique_ptr<Attack>> create_attack(const AttackChoice& choice) {
  const auto entry = find_attack(choice.name);
  if (!entry) return entry.error();
  const auto options = parse_named_options(choice.name, choice.options);
  if (!options) return options.error();
  return (*entry)->create(*options);
}

}  // namespace casemate
