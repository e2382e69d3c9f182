// casemate/certify/certificate.h
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "casemate/core/hash.h"
#include "casemate/core/signing.h"
#include "casemate/core/status.h"
#include "casemate/core/untrusted_text.h"

namespace casemate {

/// Probabilities, thresholds and slack in certificates are integers of this unit, so that every inequality is exact and
/// every number has one way to be written.
using Billionths = std::int64_t;
inline constexpr Billionths kOne = 1'000'000'000;

struct TokenProbability {
  std::int32_t token = 0;
  Billionths probability = 0;  ///< in [0, kOne]
  friend bool operator==(const TokenProbability&, const TokenProbability&) = default;
};

/// A group's next-token probabilities: some tokens, and a bound for all others.
struct SparseProbabilities {
  std::vector<TokenProbability> listed;  ///< strictly ascending tokens
  Billionths largest_unlisted = 0;       ///< no token that is not listed has more
  friend bool operator==(const SparseProbabilities&, const SparseProbabilities&) = default;
};

/// Text as a certificate has it: valid UTF-8, broken sequences replaced by U+FFFD.
struct CertifiedQuestion {
  Digest hash{};                      ///< BLAKE2b-256 of the text, which has the options of a multiple choice
  std::optional<UntrustedText> text;  ///< unset where it is withheld
  [[nodiscard]] static CertifiedQuestion of(const UntrustedText& question, bool withhold_text = false);
};

/// Method voting: one letter a group.
struct VotingGroup {
  UntrustedText answer;
  std::optional<std::size_t> vote;  ///< index into letters; unset: the group abstains
  Billionths margin = kOne;         ///< least gap between the two likeliest tokens along its greedy answer
};
struct VotingEvidence {
  std::vector<std::string> letters;  ///< different, in the order that breaks ties; at least two
  std::vector<VotingGroup> groups;   ///< one a group, in order
  std::size_t winner = 0;            ///< index of the answer
  std::int64_t max_new_tokens = 8;   ///< of a group's answer
  std::vector<std::int64_t> counts;  ///< votes a letter of the stable groups
};

/// Method keyword: words that enough groups say are the hints of a second prompt.
struct KeywordGroup {
  UntrustedText answer;
  /// Ascending by bytes, different, already without stop words, punctuation and what is too short; unset: the group
  /// abstains. None is an answer without keywords.
  std::optional<std::vector<std::string>> keywords;
  Billionths margin = kOne;  ///< as VotingGroup's
};
/// Hints that the attacker can bring about, and what the second prompt answers to them.
struct HintSet {
  std::vector<std::string> keywords;  ///< ascending by bytes
  UntrustedText answer;
  Billionths margin = kOne;  ///< as VotingGroup's, of the second prompt
};
struct KeywordEvidence {
  std::string alpha = "0.3";  ///< exact decimals; see Decimal
  std::string beta = "3";
  bool long_answers = false;         ///< only phrases of two words and more counted
  std::int64_t max_new_tokens = 20;  ///< of a group's answer and of the last one
  std::vector<KeywordGroup> groups;
  std::vector<std::pair<std::string, std::int64_t>> counts;  ///< of the stable groups, ascending by word
  std::vector<std::string> kept;                             ///< the hints that were used, ascending by bytes
  std::vector<HintSet> hint_sets;                            ///< every reachable set, ascending; `kept` is one of them
};

/// Method decoding: one token a step from the sum of the groups' probabilities.
struct DecodingGroup {
  /// Probability of " I don't know". Over gamma: the group abstains.
  Billionths refusal = 0;
};
struct DecodingStep {
  std::int32_t token = 0;  ///< what was emitted
  /// Tokens that the model without retrieval may emit here: those within 2 epsilon of its likeliest. Ascending; none:
  /// not computed because it was not needed.
  std::vector<std::int32_t> no_retrieval;
  /// One a group; unset for a group that abstains or is unstable.
  std::vector<std::optional<SparseProbabilities>> groups;
};
struct DecodingEvidence {
  Billionths eta = 0;
  Billionths gamma = 990'000'000;
  std::int64_t max_new_tokens = 20;
  std::vector<std::int32_t> end_tokens;  ///< ascending
  std::vector<DecodingGroup> groups;
  std::vector<DecodingStep> steps;  ///< the last emits an end token, or is the last that max_new_tokens allows
};

/// One list of RAGPart: the passages found with one choice of fragments.
struct RetrievalEntry {
  std::int64_t passage = 0;
  std::int64_t sum = 0;  ///< of the similarities of the list's fragments, in the evidence's unit
};
struct RetrievalList {
  std::uint32_t subset = 0;             ///< bit i: fragment i
  std::vector<RetrievalEntry> entries;  ///< top_p, by sum descending, then passage
};
/// RAGPart's votes for the question, and what `planted` further passages could change in them.
struct RetrievalEvidence {
  int fragments = 0;                  ///< N
  int combination = 0;                ///< k of RAGPart: fragments a list
  int top_p = 0;                      ///< p
  int planted = 1;                    ///< n_a: passages from outside
  int poisoned_fragments = 1;         ///< n_p: embedding slots of each with arbitrary content
  std::int64_t one = 0;               ///< the largest similarity that a slot can have, in the unit of the sums
  std::int64_t s_max = 0;             ///< the largest similarity of its other slots; in [-one, one]
  std::vector<std::int64_t> results;  ///< passages, best first, [top_p]; the certificate's passages in order
  std::vector<RetrievalList> lists;   ///< each choice of k of the N fragments once
  // What follows from it.
  std::int64_t planted_votes = 0;        ///< V: lists that a planted passage enters at most
  std::vector<std::int64_t> kept_votes;  ///< v-: votes that each result keeps at least
  std::int64_t outsider_votes = 0;       ///< v_out: most votes of a passage outside the results
  int planted_at_most = 0;               ///< j: planted passages among the results
  int changed_at_most = 0;               ///< results that are not there any more
};

struct CertifiedModel {
  std::string name;
  std::string hash;             ///< of the model's file, hexadecimal; empty where it is not known (a remote model)
  std::int64_t vocabulary = 0;  ///< tokens; 0: not known (decoding needs it)
};

/// Hashes of the prompts' fixed parts, so that a replay can see that it asks the same.
struct CertifiedPrompts {
  Digest group{};
  std::optional<Digest> second;             ///< method keyword: the one with hints
  std::optional<Digest> without_retrieval;  ///< where an answer or token without retrieval was used
};

/// What one live answer's robustness rests on. The claim: if at most `k_prime` of the passages are replaced by
/// anything, the answer stays as it is. docs/certificates.md has the proofs, docs/format.md the file.
struct Certificate {
  std::int64_t created_at = 0;  ///< seconds since 1970 UTC
  CertifiedQuestion question;
  UntrustedText answer;  ///< valid UTF-8
  std::int64_t k_prime = 0;
  std::vector<Digest> passages;      ///< BLAKE2b-256 of each, in order; k of them
  std::int64_t group_size = 1;       ///< omega
  bool positions_in_prompt = false;  ///< a group's prompt tells where its passages stood
  CertifiedModel model;
  CertifiedPrompts prompts;
  Billionths epsilon = 1'000'000;  ///< error of one probability
  std::variant<VotingEvidence, KeywordEvidence, DecodingEvidence> evidence;
  std::optional<RetrievalEvidence> retrieval;  ///< set where the claim is composed with RAGPart's
};

inline constexpr std::int64_t kCertificateFormat = 2;
inline constexpr std::uint64_t kMaxCertificateBytes = std::uint64_t{32} << 20U;
inline constexpr std::string_view kCertificateDomain = "casemate certificate\n";  ///< signed before the body's bytes

/// "voting", "keyword", "decoding".
[[nodiscard]] std::string_view method_name(const Certificate& certificate) noexcept;
/// The sentences of a certificate follow from its fields.
[[nodiscard]] std::string claim_of(const Certificate& certificate);
[[nodiscard]] std::vector<std::string> assumptions_of(const Certificate& certificate);
[[nodiscard]] std::vector<std::string> not_covered_by(const Certificate& certificate);

struct SignedCertificate {
  Certificate certificate;
  std::string signed_bytes;  ///< what the signature is of
  PublicKey public_key{};
  Signature signature{};
};

/// Reads a certificate file without judging it (verify.h does). Error: InvalidInput where the bytes are no certificate
/// in canonical form: no JSON, a field that is missing, unknown, twice, of another type or out of range, sentences that
/// do not follow from the fields, or any byte written another way; Mismatch for another format; Limit for more than
/// kMaxCertificateBytes.
[[nodiscard]] Result<SignedCertificate> read_certificate(std::string_view file);

}  // namespace casemate
