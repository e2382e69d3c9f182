#include "certify/keyword.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "casemate/certify/benign_cases.h"
#include "casemate/certify/normal_form.h"
#include "certify/group_choices.h"
#include "certify/stopped.h"

namespace casemate {
namespace {

using certify::Counts;
using certify::GroupChoices;
using Words = std::vector<std::string>;

constexpr std::uint64_t kMaxKeywordChoices = std::uint64_t{1} << 16U;
constexpr std::uint64_t kMaxKeywordLooks = std::uint64_t{1} << 24U;  // at a word of a group: seconds
constexpr int kMaxKeywordGroups = 64;

Status check_groups(std::span<const KeywordGroup> groups, const HintSet& emitted, const LiveSetting& setting) {
  const auto invalid = [](const char* message) { return Error{ErrorCode::kInvalidArgument, message}; };
  if (setting.passages < 1 || setting.group_size < 1) return invalid("expected at least one passage, groups of one");
  if (static_cast<std::int64_t>(groups.size()) != group_count(setting.passages, setting.group_size)) {
    return invalid("the number of groups is not ceil(passages / group_size)");
  }
  if (groups.size() > kMaxKeywordGroups) return invalid("more than 64 groups");
  const auto ascending = [](const Words& words) {
    return std::adjacent_find(words.begin(), words.end(), std::greater_equal<>()) == words.end();
  };
  bool sorted = ascending(emitted.keywords);
  bool margins = emitted.margin >= 0 && emitted.margin <= kOne;
  for (const KeywordGroup& group : groups) {
    sorted = sorted && (!group.keywords || ascending(*group.keywords));
    margins = margins && group.margin >= 0 && group.margin <= kOne;
  }
  if (!sorted) return invalid("keywords must be different and ascending by bytes");
  if (!margins) return invalid("a margin outside [0, 1]");
  return {};
}

/// Tries k' = 1, 2, ... on one answered question.
class LiveKeyword {
 public:
  LiveKeyword(std::span<const KeywordGroup> groups, const HintSet& emitted, const KeywordOptions& options,
              Billionths epsilon, const AnswerFromHints& answer, const std::stop_token& stop)
      : emitted_(emitted), options_(options), epsilon_(epsilon), answer_(answer), stop_(stop) {
    expected_ = certify::normal_form(emitted.answer.bytes());
    known_.emplace(emitted.keywords, emitted);
    for (const KeywordGroup& group : groups) {
      if (group.margin <= 2 * epsilon) {
        ++unstable_;
      } else {
        stable_.push_back(group.keywords ? &*group.keywords : nullptr);
        words_ += group.keywords ? group.keywords->size() : 0;
      }
    }
  }

  /// Why it does not hold for `k_prime`; nothing where it does. `reached()` are the sets then.
  Result<std::optional<std::string>> refuse(std::int64_t k_prime) {
    const int groups = static_cast<int>(stable_.size());
    const int taken = static_cast<int>(std::min<std::int64_t>(k_prime, groups));
    const std::string malicious = " with " + std::to_string(k_prime) + " malicious passages";
    if (emitted_.margin <= 2 * epsilon_)
      return std::optional<std::string>("the second prompt's answer is unstable under the slack");
    const std::uint64_t choices = GroupChoices::count(groups, taken, kMaxKeywordChoices);
    looks_ += choices > kMaxKeywordChoices ? kMaxKeywordLooks : choices * (words_ + 1);
    if (looks_ > kMaxKeywordLooks) {
      return std::optional<std::string>("there are too many choices of groups" + malicious);
    }
    reached_.clear();
    for (GroupChoices choice(groups, taken); choice.valid(); choice.next()) {
      if (stop_.stop_requested()) return certify::stopped();
      auto reason = try_choice(choice.mask(), taken + unstable_);
      if (!reason) return reason.error();
      if (*reason) return std::optional<std::string>(**reason + malicious);
    }
    return std::optional<std::string>();
  }

  [[nodiscard]] std::int64_t model_calls() const { return model_calls_; }
  [[nodiscard]] std::vector<HintSet> reached() const {
    std::vector<HintSet> out;
    for (const auto& [words, set] : reached_) out.push_back(set);
    return out;
  }

 private:
  using Reason = std::optional<std::string>;

  Result<Reason> try_choice(std::uint64_t taken, std::int64_t corrupted) {
    Counts counts;
    std::int64_t answering = 0;
    for (std::size_t g = 0; g < stable_.size(); ++g) {
      if (((taken >> g) & 1U) != 0 || stable_[g] == nullptr) continue;
      ++answering;
      for (const std::string& word : *stable_[g]) ++counts[word];
    }
    const KeywordReach reach = certify::reach_of_counts(counts, answering, corrupted, options_.rule);
    if (reach.no_retrieval) return Reason("it may be that no group answers");
    if (reach.attacker_words) return Reason("words of the attacker alone can become hints");
    const std::size_t bits = reach.possible.size();
    if (!answer_) {
      if (bits > 0 || reach.certain != emitted_.keywords) return Reason("other hints can come about");
    } else if (bits > 14 || (std::int64_t{1} << bits) > options_.max_model_calls) {
      return Reason("2^" + std::to_string(bits) + " sets of hints can come about, more than the budget,");
    }
    for (std::uint64_t chosen = 0; chosen < (std::uint64_t{1} << bits); ++chosen) {
      if (stop_.stop_requested()) return certify::stopped();
      auto reason = try_hints(certify::hint_set(reach, chosen));
      if (!reason || *reason) return reason;
    }
    return Reason();
  }

  Result<Reason> try_hints(Words hints) {
    if (reached_.contains(hints)) return Reason();
    auto known = known_.find(hints);
    if (known == known_.end()) {
      if (model_calls_ >= options_.max_model_calls) return Reason("more sets of hints can come about than the budget");
      auto answered = answer_(hints);
      if (!answered) return answered.error();
      ++model_calls_;
      known = known_.emplace(hints, HintSet{hints, UntrustedText(answered->text.for_json()), answered->margin}).first;
    }
    if (known->second.margin <= 2 * epsilon_) return Reason("a second prompt's answer is unstable under the slack");
    if (certify::normal_form(known->second.answer.bytes()) != expected_) return Reason("another answer can come about");
    reached_.emplace(std::move(hints), known->second);
    return Reason();
  }

  const HintSet& emitted_;
  const KeywordOptions& options_;
  Billionths epsilon_;
  const AnswerFromHints& answer_;
  const std::stop_token& stop_;
  std::string expected_;
  std::vector<const Words*> stable_;  ///< null: abstains
  std::int64_t unstable_ = 0;
  std::int64_t model_calls_ = 0;
  std::uint64_t words_ = 0;           ///< of all stable groups
  std::uint64_t looks_ = 0;           ///< at words, over all choices so far
  std::map<Words, HintSet> known_;    ///< every second prompt that was run
  std::map<Words, HintSet> reached_;  ///< those that the k' tried last can bring about
};

}  // namespace

std::optional<std::vector<std::string>> kept_keywords(std::span<const KeywordGroup> groups,
                                                      const KeywordThreshold& rule) {
  Counts counts;
  std::int64_t answering = 0;
  for (const KeywordGroup& group : groups) {
    if (!group.keywords) continue;
    ++answering;
    for (const std::string& word : *group.keywords) ++counts[word];
  }
  if (answering == 0) return std::nullopt;
  std::vector<std::string> kept;
  for (const auto& [word, count] : counts) {
    if (count >= rule.least_count(answering)) kept.push_back(word);
  }
  return kept;
}

Result<KeywordLiveOutcome> certify_keyword(std::span<const KeywordGroup> groups, const HintSet& emitted,
                                           const KeywordOptions& options, const LiveSetting& setting,
                                           const AnswerFromHints& answer, const std::stop_token& stop) {
  if (Status valid = certify::check_options(options); !valid) return valid.error();
  if (Status valid = check_groups(groups, emitted, setting); !valid) return valid.error();
  HintSet valid_emitted = emitted;
  valid_emitted.answer = UntrustedText(emitted.answer.for_json());
  LiveKeyword live(groups, valid_emitted, options, setting.epsilon, answer, stop);
  KeywordLiveOutcome out;
  for (std::int64_t k_prime = 1; k_prime <= setting.passages; ++k_prime) {
    auto refused = live.refuse(k_prime);
    if (!refused) return refused.error();
    if (*refused) {
      out.live.limited_by = **refused;
      break;
    }
    out.live.k_prime = k_prime;
    out.hint_sets = live.reached();
  }
  out.model_calls = live.model_calls();
  return out;
}

}  // namespace casemate
