#include "generate/group_batch.h"

#include <algorithm>
#include <set>

namespace casemate::generate {
namespace {

/// One prompt in tokens: [0, passages_begin) is the same for all groups, [0, question_begin) does not depend on the
/// question.
struct GroupTokens {
  std::size_t group = 0;
  std::vector<TokenId> ids;
  std::size_t passages_begin = 0;
  std::size_t question_begin = 0;
  Digest key{};
  std::shared_ptr<const SequenceState> state;

  [[nodiscard]] std::span<const TokenId> all() const { return ids; }
};

std::vector<PromptPassage> pick(std::span<const PromptPassage> passages, const std::vector<std::size_t>& indices) {
  std::vector<PromptPassage> out;
  out.reserve(indices.size());
  for (const std::size_t i : indices) out.push_back(passages[i]);
  return out;
}

Result<GroupTokens> tokens_of(const LanguageModel& model, const Question& question,
                              std::span<const PromptPassage> passages, const std::vector<std::size_t>& group) {
  const IsolatedPrompt isolated = isolated_prompt(question, pick(passages, group));
  auto framed = model.tokenize_prompt(isolated.prompt);
  if (!framed) return framed.error();
  GroupTokens out;
  out.ids = std::move(framed->ids);
  const int last_message = static_cast<int>(isolated.prompt.messages.size()) - 1;
  const auto first_of_part = [&](int part) {
    const auto at = std::find_if(framed->origins.begin(), framed->origins.end(), [&](const PromptTokenOrigin& origin) {
      return origin.message == last_message && origin.part >= part;
    });
    return static_cast<std::size_t>(at - framed->origins.begin());
  };
  out.passages_begin = first_of_part(1);
  out.question_begin = first_of_part(isolated.question_part);
  return out;
}

class Starter {
 public:
  Starter(LanguageModel& model, const RobustOptions& options, const std::stop_token& stop)
      : model_(model), options_(options), stop_(stop) {}

  void add(GroupTokens tokens) {
    if (caching()) {
      tokens.key =
          PassageStates::key(model_.info().file_hash, options_.tenant, tokens.all().first(tokens.question_begin));
      tokens.state = options_.states->find(tokens.key);
    }
    groups_.push_back(std::move(tokens));
  }
  void add_no_retrieval(std::vector<TokenId> ids) { no_retrieval_ = std::move(ids); }

  Result<std::unique_ptr<LlmBatch>> start() {
    auto batch = start_once();
    const bool damaged =
        !batch && (batch.error().code == ErrorCode::kCorrupt || batch.error().code == ErrorCode::kMismatch);
    if (!damaged) return batch;
    for (GroupTokens& group : groups_) {
      if (group.state) options_.states->forget(group.key);
      group.state = nullptr;
    }
    return start_once();
  }

 private:
  /// Without a hash of the model's file, states of two models could not be told apart.
  [[nodiscard]] bool caching() const {
    return options_.states != nullptr && model_.capabilities().has(Feature::kSequenceState) &&
           !model_.info().file_hash.empty();
  }

  /// With a cache, what is read anew stops before the question first, where its state is taken.
  Result<std::unique_ptr<LlmBatch>> start_once() {
    std::vector<BatchSequence> sequences;
    for (const GroupTokens& group : groups_) {
      const auto all = group.all();
      if (group.state) {
        sequences.push_back({all.subspan(group.question_begin), group.state.get()});
      } else if (caching()) {
        sequences.push_back({all.subspan(group.passages_begin, group.question_begin - group.passages_begin), nullptr});
      } else {
        sequences.push_back({all.subspan(group.passages_begin), nullptr});
      }
    }
    if (!no_retrieval_.empty()) sequences.push_back({no_retrieval_, nullptr, true});
    const auto prefix =
        groups_.empty() ? std::span<const TokenId>() : groups_[0].all().first(groups_[0].passages_begin);
    auto batch = model_.start_batch(prefix, sequences, stop_);
    if (!batch || !caching()) return batch;
    std::vector<BatchAppend> questions;
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      if (groups_[i].state) continue;
      auto state = (*batch)->save_state(i);
      if (!state) return state.error();
      options_.states->keep(groups_[i].key, *std::move(state));
      questions.push_back({i, groups_[i].all().subspan(groups_[i].question_begin)});
    }
    if (questions.empty()) return batch;
    if (Status read = (*batch)->append(questions, stop_); !read) return read.error();
    return batch;
  }

  LanguageModel& model_;
  const RobustOptions& options_;
  const std::stop_token& stop_;
  std::vector<GroupTokens> groups_;
  std::vector<TokenId> no_retrieval_;
};

}  // namespace

Result<GroupBatch> start_groups(LanguageModel& model, const Question& question, std::span<const PromptPassage> passages,
                                std::span<const std::vector<std::size_t>> groups, const RobustOptions& options,
                                bool with_no_retrieval, const std::stop_token& stop) {
  GroupBatch out;
  Starter starter(model, options, stop);
  const auto room = static_cast<std::size_t>(options.max_new_tokens);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    auto tokens = tokens_of(model, question, passages, groups[i]);
    if (!tokens) return Error{tokens.error().code, "group " + std::to_string(i + 1) + ": " + tokens.error().message};
    if (tokens->ids.size() + room > model.info().context_tokens) {
      out.too_long.push_back(i);
      continue;
    }
    tokens->group = i;
    out.groups.push_back(i);
    starter.add(*std::move(tokens));
  }
  if (with_no_retrieval) {
    auto framed = model.tokenize_prompt(no_retrieval_prompt(question));
    if (!framed) return framed.error();
    starter.add_no_retrieval(std::move(framed->ids));
    out.no_retrieval = out.groups.size();
  }
  if (out.groups.empty() && !with_no_retrieval) return out;
  auto batch = starter.start();
  if (!batch) return batch.error();
  out.batch = *std::move(batch);
  return out;
}

}  // namespace casemate::generate
