// casemate/attack/attack.h
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "casemate/core/status.h"
#include "casemate/core/untrusted_text.h"
#include "casemate/retrieve/stage_evidence.h"

namespace casemate {

/// What the attacker must see or touch.
enum class AttackAccess : std::uint8_t {
  kWhiteBox,    ///< the retriever's weights
  kBlackBox,    ///< what the retriever answers, or the queries that it gets
  kCorpusOnly,  ///< documents to read and to plant, nothing else
};
[[nodiscard]] std::string_view attack_access_name(AttackAccess access) noexcept;  ///< "white box", ...

/// A document that was there before the attack.
struct CorpusPassage {
  std::string id;
  UntrustedText title;
  UntrustedText text;
};

/// A query that the attacker wants to reach or to mislead.
struct AttackTarget {
  std::string query_id;
  UntrustedText query;
  std::string gold_document;           ///< id of the document that answers it
  std::vector<UntrustedText> answers;  ///< right ones; may be empty
};

/// Not owned; passages have different ids.
struct AttackInput {
  std::span<const CorpusPassage> corpus;
  std::span<const AttackTarget> targets;
  std::uint64_t seed = 0;
};

/// A document that an attack made, with how it was made.
struct CraftedDocument {
  std::string id;  ///< "casemate-attack/<attack>/<number from 0>"
  UntrustedText title;
  UntrustedText text;
  std::string source_document;              ///< the passage it was made from
  std::vector<std::string> target_queries;  ///< ids; those that it was made for
  std::vector<CharacterSpan> changed;       ///< pieces of `text` that are not the source's, in characters
  bool fell_back = false;                   ///< the change was impossible: see `note`
  std::string note;                         ///< safe to print
};

struct CraftedAttack {
  std::vector<CraftedDocument> documents;
  std::size_t fell_back = 0;
};

/// Makes poison, or disturbs queries. Immutable and thread-safe. The same options, input and seed give the same result,
/// whatever else runs: every draw comes from a stream named after the attack and the passage or query.
class Attack {
 public:
  virtual ~Attack() = default;
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  /// Names and values of its choices, in a fixed order.
  [[nodiscard]] virtual std::vector<std::pair<std::string, std::string>> parameters() const = 0;

  /// Documents to plant, in a fixed order; none for attacks that disturb queries. No target or an empty corpus gives
  /// none. Error: InvalidArgument where the corpus is too small for what the options ask; Cancelled.
  [[nodiscard]] virtual Result<CraftedAttack> craft(const AttackInput& input, std::stop_token stop) const = 0;

  /// True where documents are made for each target by itself, so that the targets should be the queries that are asked.
  /// Others want to know all questions about the corpus.
  [[nodiscard]] virtual bool aims_at_each_query() const noexcept { return false; }
  /// True where `disturb` does something.
  [[nodiscard]] virtual bool disturbs_queries() const noexcept { return false; }
  /// Changes the embedding [d] of a query in place. Nothing by default.
  virtual void disturb(std::string_view query, std::uint64_t seed, std::span<float> embedding) const;
};

/// Document ids with this prefix are an attack's: what was planted is found again by it.
inline constexpr char kAttackIdPrefix[] = "casemate-attack/";

/// One JSON line of attack.jsonl: {id, attack, parameters, access, atlas, owasp_2025, owasp_2026, source_document,
/// target_queries, changed, fell_back, note, title, text}. Valid UTF-8 whatever the texts hold.
[[nodiscard]] std::string attack_record_json(const Attack& attack, const CraftedDocument& document);

}  // namespace casemate
