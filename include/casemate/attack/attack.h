// casemate/attack/attack.h
#pragma once

#include <cstdint>
#include <map>
#include <optional>
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

class CraftCache;
class Encoder;
class LanguageModel;
class Progress;
class ThreadPool;

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
  std::string gold_document;                 ///< id of the document that answers it
  std::vector<UntrustedText> answers;        ///< right ones; may be empty
  UntrustedText wrong_answer{};              ///< what the attacker wants to be answered; empty: the attack finds one
  std::vector<UntrustedText> wrong_texts{};  ///< texts that support it, where the data has them
};

/// What an attack may work with beside the corpus. Not owned; a part that is null is not there.
struct AttackTools {
  const Encoder* encoder = nullptr;  ///< the retriever's; white-box attacks need one with gradients
  const Encoder* judge = nullptr;    ///< another one, to judge likeness of meaning; null: the retriever's
  LanguageModel* model = nullptr;    ///< writes text
  CraftCache* cache = nullptr;       ///< keeps costly work from run to run, and from condition to condition
  const ThreadPool* pool = nullptr;  ///< documents are crafted side by side
  Progress* progress = nullptr;
};

/// Not owned; passages have different ids.
struct AttackInput {
  std::span<const CorpusPassage> corpus;
  std::span<const AttackTarget> targets;
  std::uint64_t seed = 0;
  AttackTools tools{};
};

/// A token of a planted document that the attack set.
struct ChangedToken {
  std::size_t character = 0;  ///< where it stands in the text
  std::int32_t token = 0;     ///< of the retriever's vocabulary
  std::string piece;          ///< its string there
};

/// How an optimised document came to be. Holds no time, so that the same run gives the same bytes.
struct CraftTrace {
  int iterations = 0;
  double start_similarity = 0;        ///< of the source document to the query (mean over the target queries)
  double similarity = 0;              ///< of the planted text
  std::vector<double> objective;      ///< iterations + 1 values: what was maximised, before and after each iteration
  std::vector<ChangedToken> tokens;   ///< in order of the text
  std::uint64_t forward_tokens = 0;   ///< that went through the encoder
  std::uint64_t backward_tokens = 0;  ///< and back
};

/// What a paraphrase is worth to an attacker.
struct ParaphraseRewards {
  double semantic = 0;   ///< cosine to the original
  double retrieval = 0;  ///< similarity to the query in the retriever
  double copying = 0;    ///< ROUGE-L with the query: less is better
};

/// Two answers to one prompt, for a trainer of preferences.
struct ParaphrasePreference {
  std::string prompt;
  std::string chosen;
  std::string rejected;
};

/// How a paraphrased document came to be.
struct ParaphraseTrace {
  ParaphraseRewards before;  ///< of the source document
  ParaphraseRewards after;   ///< of the planted text
  std::vector<ParaphrasePreference> preferences;
  bool copies_run = false;  ///< the planted text holds kCopiedRun words of the query in a row (advraggen.h)
  std::string judge{};      ///< the encoder that judged likeness, with its pooling: "all-minilm-l6-v2 (cls)"
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
  UntrustedText target_answer{};            ///< what it wants to be answered; empty where it wants nothing
  std::string canary{};                     ///< a string that stands nowhere else: seen in an answer, it leaked
  std::optional<CraftTrace> trace{};        ///< of attacks that optimise
  std::optional<ParaphraseTrace> paraphrase{};
};

/// A query that an attack made, to be asked as it is.
struct CraftedQuery {
  std::string id;  ///< "casemate-attack/<attack>/query/<number from 0>"
  UntrustedText query;
  std::string anchor;  ///< the passage or query that its first part was made from; empty where from none
};

struct CraftedAttack {
  std::vector<CraftedDocument> documents;
  std::size_t fell_back = 0;
  std::vector<CraftedQuery> queries{};  ///< of attacks from the side of the query
};

/// Makes poison, or disturbs queries. Immutable and thread-safe. The same options, input and seed give the same result,
/// whatever else runs: every draw comes from a stream named after the attack and the passage or query.
class Attack {
 public:
  virtual ~Attack() = default;
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  /// Names and values of its choices, in a fixed order.
  [[nodiscard]] virtual std::vector<std::pair<std::string, std::string>> parameters() const = 0;

  /// Documents to plant, in a fixed order; none for attacks that disturb queries. No target gives none where it aims at
  /// each, nor does an empty corpus where passages are altered. Error: InvalidArgument where the corpus is too small
  /// for what the options ask; Unsupported naming the tool that is missing; what tools say; Cancelled.
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
/// target_queries, changed, fell_back, note, title, text}; where there are such, also target_answer, canary, and the
/// trace as {iterations, start_similarity, final_similarity, objective, tokens, forward_tokens, backward_tokens} or
/// {rewards_before, rewards_after, copies_run, judge}, rewards each {semantic, retrieval, copying}. Valid UTF-8
/// whatever the texts hold.
[[nodiscard]] std::string attack_record_json(const Attack& attack, const CraftedDocument& document);
/// The same for a query: {id, attack, parameters, access, atlas, owasp_2025, owasp_2026, anchor, query}.
[[nodiscard]] std::string attack_record_json(const Attack& attack, const CraftedQuery& query);
/// One JSON line for trainers of preferences (DPO): {prompt, chosen, rejected}.
[[nodiscard]] std::string preference_record_json(const ParaphrasePreference& preference);

}  // namespace casemate
