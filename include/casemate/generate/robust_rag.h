// casemate/generate/robust_rag.h
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "casemate/core/status.h"
#include "casemate/generate/answer_memory.h"
#include "casemate/generate/keyword_threshold.h"
#include "casemate/generate/passage_states.h"
#include "casemate/generate/question.h"
#include "casemate/llm/language_model.h"
#include "casemate/text/keywords.h"

namespace casemate {

/// How the answers of isolated groups become one (RobustRAG, sections III.B and III.C).
enum class Aggregation : std::uint8_t {
  kVoting,    ///< one letter a group, most votes (multiple choice)
  kKeyword,   ///< words that enough groups use, as hints of a second prompt
  kDecoding,  ///< next-token probabilities summed over groups, token by token
};
[[nodiscard]] std::string_view aggregation_name(Aggregation method) noexcept;  ///< "voting", "keyword", "decoding"
/// Error: NotFound, naming the nearest.
[[nodiscard]] Result<Aggregation> find_aggregation(std::string_view name);

/// The keywords of one answer: unique, without stop words and punctuation.
using KeywordsOf = std::function<std::set<std::string>(const std::string& answer)>;
/// As the published experiments count them (KeywordExtractor, without what `is_stop_or_punctuation` names). `extractor`
/// must outlive the function.
[[nodiscard]] KeywordsOf keywords_by(const KeywordExtractor& extractor);

struct RobustOptions {
  Aggregation method = Aggregation::kKeyword;
  int group_size = 1;                ///< omega: passages a group; >= 1
  int max_new_tokens = 20;           ///< of each answer; >= 1
  KeywordThreshold threshold;        ///< alpha and beta
  std::size_t min_phrase_words = 1;  ///< shorter keywords do not count (2 for long text); >= 1
  double eta = 0;                    ///< least gap of the summed probabilities to follow the passages; >= 0
  double gamma = 0.99;               ///< a group likelier than this to decline is left out of decoding; in (0, 1]
  KeywordsOf keywords;               ///< needed for kKeyword
  /// Keep what a certificate needs: listed probabilities of every group at every step, and at every step the token
  /// without retrieval (one more sequence in the batch).
  bool trace = false;
  std::size_t listed_probabilities = 20;  ///< of a group or of the model alone at each step; >= 2
  std::string tenant = "default";         ///< whose states of passages may be used
  PassageStates* states = nullptr;        ///< null: passages are read anew each time. Not owned
  AnswerMemory* answers = nullptr;        ///< null: every prompt is asked anew. Must be of this model. Not owned
};

/// The options of the paper for a task: for long text alpha 0.4, beta 4, phrases of two words, eta 1 and 500 tokens;
/// else alpha 0.3, beta 3, eta 0 and 20 tokens.
[[nodiscard]] RobustOptions robust_options(Aggregation method, AnswerTask task);
/// Error: InvalidOption, naming field, value and range.
[[nodiscard]] Status validate(const RobustOptions& options);

/// Error: InvalidArgument where there are no passages, a multiple choice has not 2 to 26 options of one line each, or
/// voting is asked of another task.
[[nodiscard]] Status check_question(const Question& question, std::span<const PromptPassage> passages,
                                    const RobustOptions& options);

/// What one group of passages answers by itself.
struct GroupAnswer {
  std::vector<std::size_t> passages;  ///< indices from 0
  UntrustedText text{};
  bool abstains = false;
  bool too_long = false;  ///< its prompt does not fit the model's context, so it was not asked and abstains
  /// The least difference between the two likeliest tokens' probabilities on the way, end token included: how near the
  /// greedy answer was to another. Nothing where the model does not give probabilities.
  std::optional<double> smallest_gap{};
  std::optional<std::size_t> option{};  ///< voting: what it votes for
  std::set<std::string> keywords{};     ///< keyword: what it counts for
  double agreement = 0;  ///< decoding: share of the answer's tokens that this group by itself holds likeliest
  double abstention_probability = 0;  ///< decoding: at most this, of declining with the usual words
};

/// One group's next-token distribution as far as it is listed.
struct ListedDistribution {
  std::size_t group = 0;
  std::vector<std::pair<TokenId, double>> listed;  ///< descending; equal ones by id
  double unlisted_at_most = 0;                     ///< no other token is likelier than this
};

/// One token of an answer by decoding aggregation.
struct AnswerStep {
  TokenId token = -1;         ///< what was emitted; the end token where the answer ends
  bool from_passages = true;  ///< false: the gap was too small, so it is the token without retrieval
  double gap = 0;             ///< between the two largest sums
  /// The likeliest tokens without retrieval after the answer so far, likeliest first; empty where it was neither needed
  /// nor traced. Equal probabilities stand in the order of ids, and the first is what would be emitted.
  std::vector<std::pair<TokenId, double>> no_retrieval;
  std::vector<ListedDistribution> groups;  ///< in a trace
};

struct RobustAnswer {
  UntrustedText text;
  bool from_passages = true;  ///< false: no group was left or all decline, so this is what the model says by itself
  std::vector<GroupAnswer> groups;
  std::map<std::size_t, int> votes;         ///< voting: by option
  std::map<std::string, int> counts;        ///< keyword: groups that use it, before the threshold
  std::vector<std::string> hints;           ///< keyword: what passed, longest first
  std::optional<double> second_prompt_gap;  ///< keyword: as GroupAnswer::smallest_gap, of the last answer
  std::vector<AnswerStep> steps;            ///< decoding
  FinishReason finish = FinishReason::kEnd;
  LlmUsage usage;                    ///< of this answer
  std::size_t generated_tokens = 0;  ///< over all groups and prompts
  std::vector<NeutralisedString> neutralised;
  std::size_t prompt_tokens = 0;  ///< of all prompts, whether computed or reused; nothing that was generated
  std::size_t remembered = 0;     ///< prompts whose answers came out of options.answers
};

/// Whether a group stands behind the answer: its vote won, it uses one of the hints, or it agrees with most tokens.
[[nodiscard]] bool stands_behind(const RobustAnswer& answer, const GroupAnswer& group);

/// Consecutive groups of `group_size` passages (the last may be smaller): indices from 0.
[[nodiscard]] std::vector<std::vector<std::size_t>> passage_groups(std::size_t passages, int group_size);

/// An answer that a few corrupted passages cannot change: each group of passages is asked by itself, greedily, and the
/// answers are aggregated. All groups run as one batch over their common beginning where the backend can.
/// Error: InvalidOption; InvalidArgument (no passages, a multiple choice without options, voting on another task);
/// Unsupported where decoding is asked of a model without full probabilities; what the model says; Cancelled.
[[nodiscard]] Result<RobustAnswer> answer_robustly(LanguageModel& model, const Question& question,
                                                   std::span<const PromptPassage> passages,
                                                   const RobustOptions& options, std::stop_token stop = {});

/// The greedy answer to each group by itself (the first stage of voting and keyword aggregation), for certification,
/// which needs answers of groups that no inference forms. Error: as above.
struct IsolatedAnswers {
  std::vector<GroupAnswer> groups;
  LlmUsage usage;
  std::size_t generated_tokens = 0;
  std::vector<NeutralisedString> neutralised;
  std::size_t prompt_tokens = 0;
  std::size_t remembered = 0;  ///< groups whose answers came out of options.answers
};
[[nodiscard]] Result<IsolatedAnswers> answer_groups(LanguageModel& model, const Question& question,
                                                    std::span<const PromptPassage> passages,
                                                    std::span<const std::vector<std::size_t>> groups,
                                                    const RobustOptions& options, std::stop_token stop = {});

/// The second prompt of keyword aggregation; without any hint it is the question alone.
[[nodiscard]] Prompt answer_from_hints_prompt(const Question& question, std::span<const std::string> hints);

/// The greedy answer to one prompt, out of `memory` (may be null) where it was asked before: `usage.calls` is 0 then.
[[nodiscard]] Result<GreedyAnswer> answer_prompt(LanguageModel& model, const Prompt& prompt, int max_new_tokens,
                                                 std::stop_token stop = {}, AnswerMemory* memory = nullptr);

}  // namespace casemate
