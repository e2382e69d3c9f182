// casemate/sanitize/ap_keywords.h
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "casemate/core/status.h"
#include "casemate/core/untrusted_text.h"
#include "casemate/llm/language_model.h"
#include "casemate/text/keywords.h"
#include "casemate/text/offset_map.h"

namespace casemate {

/// A retrieved passage, before anything was done to it.
struct ContextPassage {
  UntrustedText title;
  UntrustedText text;
};

/// Which of the two steps choose the keywords.
enum class ApSteps : std::uint8_t {
  kBoth,              ///< attention proposes `k_cand` candidates, perturbation chooses `k_out` of them
  kAttentionOnly,     ///< the best by attention (ablation)
  kPerturbationOnly,  ///< every candidate is perturbed (ablation; one scoring each)
};
/// What becomes of a candidate's occurrences in the perturbed context.
enum class Perturbation : std::uint8_t { kDelete, kMask };
/// The paper's equation takes the absolute change of the loss, its Algorithm 1 the signed one.
enum class LossChange : std::uint8_t { kSigned, kAbsolute };

/// What proposes candidates. In deep models the rollout mostly follows the position in the text, whatever was asked:
/// docs/decisions/0100 has the figures.
enum class ApAttention : std::uint8_t {
  kRollout,  ///< the paper's: the product of all layers
  kDirect,   ///< the mean of all layers: where the answer's tokens look
  kBoth,     ///< the best of each in turn, direct first
};

struct ApOptions {
  int k_cand = 3;                                     ///< candidates that are perturbed; in [1, 64]
  int k_out = 1;                                      ///< keywords; in [1, k_cand]
  ApSteps steps = ApSteps::kBoth;                     ///< which of the two steps run
  ApAttention attention = ApAttention::kBoth;         ///< what proposes
  Perturbation perturbation = Perturbation::kDelete;  ///< what happens to a candidate's occurrences
  LossChange loss = LossChange::kSigned;              ///< what a candidate is judged by
  int max_draft_tokens = 24;                          ///< length of the provisional answer; in [1, 512]
  int max_context_tokens = 4000;                      ///< of prompt and draft, for memory; in [64, 32768]
  int max_perturbed = 48;                             ///< most candidates of kPerturbationOnly; in [1, 255]
};

/// Error: InvalidOption, naming field, value and range.
[[nodiscard]] Status validate(const ApOptions& options);

/// Bytes of one passage, in the form that `UntrustedText::for_prompt` gives it (the passage's own bytes unless it holds
/// controls or broken UTF-8).
struct PassageSpan {
  std::size_t passage = 0;
  ByteSpan span;
  friend bool operator==(const PassageSpan&, const PassageSpan&) = default;
};

/// A content word or a maximal run of content words of the context.
struct ApCandidate {
  UntrustedText phrase;                  ///< as it stands at its best-scored place
  std::vector<PassageSpan> occurrences;  ///< all places, in order, whatever their case
  double rollout = 0;                    ///< mean rollout score of its tokens, word by word; the best place's
  double direct = 0;                     ///< the same of the mean attention
  std::optional<double> loss_change;     ///< of the draft when all occurrences are gone; nothing: not perturbed
  bool chosen = false;
};

struct ApKeywords {
  std::vector<ApCandidate> candidates;  ///< those that were looked at, in the order they were proposed
  std::vector<std::size_t> chosen;  ///< indexes of the keywords, best first; empty: the context has no content words
  UntrustedText draft;              ///< the provisional answer y
  double draft_loss = 0;            ///< mean nats a token
  std::size_t passages_used = 0;    ///< the first so many; later ones do not fit the backbone
  bool cut = false;                 ///< the last of them was cut at a sentence to fit
  std::size_t prompt_tokens = 0;
  std::size_t draft_tokens = 0;
  std::size_t attention_bytes = 0;  ///< that the kept attention took
  std::vector<std::string> notes;   ///< what a reader must know; safe to print
};

/// Keywords by attention and perturbation (KFS-RAG, section 3.2 and Algorithm 1).
///
/// The backbone answers context and question greedily; its attention from the answer's tokens scores the context's
/// words; the best candidates are taken out of the context one at a time, and those whose loss makes the answer least
/// likely are the keywords. Candidates come from the context only: nothing of the question, and so nothing of an
/// instruction in it, can become a keyword. What a question's instruction can do is to move which of the context's
/// words is chosen.
///
/// A word that stands in a run of content words competes as that run, so that one name does not fill all places.
/// Without `kAttention` only kPerturbationOnly works; without `kContinuationLoss` only kAttentionOnly.
/// Thread-safe as far as the model is. `model` and `tagger` are not owned.
///
/// An empty context gives no candidates. A context larger than the backbone is cut from its end, by passages and then
/// by sentences, which is told. Error: InvalidOption; Unsupported; Limit where the question alone does not fit; what
/// the model says; Cancelled.
[[nodiscard]] Result<ApKeywords> find_ap_keywords(LanguageModel& model, const KeywordExtractor& tagger,
                                                  const UntrustedText& question,
                                                  std::span<const ContextPassage> passages, const ApOptions& options,
                                                  std::stop_token stop = {});

/// The candidates of a context in the order of the text, without scores or places: each word or run once.
[[nodiscard]] std::vector<ApCandidate> context_candidates(const KeywordExtractor& tagger,
                                                          std::span<const ContextPassage> passages);

/// The prompt that the backbone drafts from: plain text with one example, because small models answer that best.
[[nodiscard]] Prompt ap_prompt(const UntrustedText& question, std::span<const ContextPassage> passages);

}  // namespace casemate
