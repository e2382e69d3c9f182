#include "casemate/generate/decoding_session.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "generate/group_batch.h"

namespace casemate {
namespace {

/// Groups whose first token alone makes declining less likely than gamma by this much are not looked at further.
constexpr double kNearGamma = 0.01;

bool above(const std::pair<TokenId, double>& a, const std::pair<TokenId, double>& b) {
  return a.second != b.second ? a.second > b.second : a.first < b.first;
}

TokenProbabilities listed(std::span<const float> log_probabilities) {
  static const auto least = static_cast<float>(std::log(DecodingSession::kLeastProbability));
  TokenProbabilities out;
  for (std::size_t i = 0; i < log_probabilities.size(); ++i) {
    if (log_probabilities[i] >= least)
      out.emplace_back(static_cast<TokenId>(i), std::exp(static_cast<double>(log_probabilities[i])));
  }
  std::sort(out.begin(), out.end(), above);
  return out;
}

}  // namespace

struct DecodingSession::State {
  LanguageModel& model;
  std::stop_token stop;
  generate::GroupBatch batch;
  std::vector<std::size_t> sequences{};               ///< of the remaining groups
  std::vector<std::size_t> remaining{};               ///< their numbers
  std::vector<double> abstention{};                   ///< by group
  std::vector<bool> too_long{};                       ///< by group
  std::vector<std::size_t> prompt_tokens{};           ///< by sequence
  std::map<std::size_t, std::vector<float>> first{};  ///< of sequences that went back to their prompt
  std::vector<TokenId> answer{};
  bool rewound = false;
  std::size_t most_alone = 0;
  std::vector<TokenProbabilities> alone{};  ///< after each length of the answer that it has followed

  [[nodiscard]] Result<std::vector<float>> next_of(std::size_t sequence) const {
    const auto kept = first.find(sequence);
    if (answer.empty() && kept != first.end()) return kept->second;
    return batch.batch->log_probabilities(sequence);
  }

  /// The probability of declining with the usual words, a token at a time for all groups that may.
  Status measure_abstention(double gamma) {
    auto words = model.tokenize(abstention_text(), SpecialTokens::kAsText);
    if (!words) return words.error();
    if (words->ids.empty()) return {};
    std::vector<std::size_t> likely;
    for (std::size_t s = 0; s < batch.groups.size(); ++s) {
      auto next = batch.batch->log_probabilities(s);
      if (!next) return next.error();
      abstention[batch.groups[s]] = std::exp(static_cast<double>((*next)[static_cast<std::size_t>(words->ids[0])]));
      if (abstention[batch.groups[s]] <= gamma - kNearGamma) continue;
      likely.push_back(s);
      first[s] = *std::move(next);
    }
    for (std::size_t w = 1; w < words->ids.size() && !likely.empty(); ++w) {
      std::vector<BatchAppend> appends;
      for (const std::size_t s : likely) appends.push_back({s, std::span(&words->ids[w - 1], 1)});
      if (Status read = batch.batch->append(appends, stop); !read) return read;
      for (const std::size_t s : likely) {
        const auto next = batch.batch->log_probabilities(s);
        if (!next) return next.error();
        abstention[batch.groups[s]] *= std::exp(static_cast<double>((*next)[static_cast<std::size_t>(words->ids[w])]));
      }
    }
    if (words->ids.size() < 2) return {};
    for (const std::size_t s : likely) {
      if (Status back = batch.batch->rewind(s, prompt_tokens[s]); !back) return back;
    }
    return {};
  }

  Status follow_alone() {
    const std::size_t sequence = *batch.no_retrieval;
    while (alone.size() <= answer.size()) {
      if (!alone.empty()) {
        // One by one: a token that is read with others has other last digits.
        const BatchAppend append{sequence, std::span(&answer[alone.size() - 1], 1)};
        if (Status read = batch.batch->append(std::span(&append, 1), stop); !read) return read;
      }
      const auto next = batch.batch->log_probabilities(sequence);
      if (!next) return next.error();
      alone.push_back(listed(*next));
      if (alone.back().size() > most_alone) alone.back().resize(most_alone);
    }
    return {};
  }
};

DecodingSession::DecodingSession(std::unique_ptr<State> state) : state_(std::move(state)) {}
DecodingSession::~DecodingSession() = default;

Result<std::unique_ptr<DecodingSession>> DecodingSession::start(LanguageModel& model, const Question& question,
                                                                std::span<const PromptPassage> passages,
                                                                std::span<const std::vector<std::size_t>> groups,
                                                                const RobustOptions& options, std::stop_token stop) {
  if (Status able = require(model, {Feature::kFullLogProbabilities, Feature::kSharedPrefix}, "decoding aggregation");
      !able)
    return able.error();
  auto started = generate::start_groups(model, question, passages, groups, options, true, stop);
  if (!started) return started.error();
  auto state = std::make_unique<State>(State{.model = model, .stop = std::move(stop), .batch = *std::move(started)});
  state->most_alone = options.listed_probabilities;
  state->abstention.assign(groups.size(), 1);
  state->too_long.assign(groups.size(), false);
  for (const std::size_t group : state->batch.too_long) state->too_long[group] = true;
  for (std::size_t s = 0; s < state->batch.batch->size(); ++s)
    state->prompt_tokens.push_back(state->batch.batch->tokens(s).size());
  if (Status measured = state->measure_abstention(options.gamma); !measured) return measured.error();
  for (std::size_t s = 0; s < state->batch.groups.size(); ++s) {
    if (state->abstention[state->batch.groups[s]] > options.gamma) continue;
    state->sequences.push_back(s);
    state->remaining.push_back(state->batch.groups[s]);
  }
  return std::unique_ptr<DecodingSession>(new DecodingSession(std::move(state)));
}

std::span<const std::size_t> DecodingSession::remaining() const noexcept { return state_->remaining; }
double DecodingSession::abstention_probability(std::size_t group) const { return state_->abstention.at(group); }
bool DecodingSession::too_long(std::size_t group) const { return state_->too_long.at(group); }
std::size_t DecodingSession::depth() const noexcept { return state_->answer.size(); }
std::size_t DecodingSession::prompt_tokens() const noexcept {
  return std::accumulate(state_->prompt_tokens.begin(), state_->prompt_tokens.end(), std::size_t{0});
}
LlmUsage DecodingSession::usage() const noexcept { return state_->batch.batch->usage(); }

bool DecodingSession::full() const noexcept {
  const auto ends = [this](std::size_t sequence) {
    return state_->prompt_tokens[sequence] + state_->answer.size() + 1 > state_->model.info().context_tokens;
  };
  // Groups that declined follow the answer no further.
  return std::any_of(state_->sequences.begin(), state_->sequences.end(), ends) ||
         (state_->batch.no_retrieval && ends(*state_->batch.no_retrieval));
}

Result<std::vector<TokenProbabilities>> DecodingSession::next() const {
  if (state_->rewound) return Error{ErrorCode::kInvalidArgument, "push a token after going back"};
  std::vector<TokenProbabilities> out;
  for (const std::size_t sequence : state_->sequences) {
    const auto next = state_->next_of(sequence);
    if (!next) return next.error();
    out.push_back(listed(*next));
  }
  return out;
}

Result<TokenProbabilities> DecodingSession::no_retrieval() {
  if (Status followed = state_->follow_alone(); !followed) return followed.error();
  return state_->alone[state_->answer.size()];
}

Status DecodingSession::push(TokenId token) {
  std::vector<BatchAppend> appends;
  for (const std::size_t sequence : state_->sequences) appends.push_back({sequence, std::span(&token, 1)});
  if (!appends.empty()) {
    if (Status read = state_->batch.batch->append(appends, state_->stop); !read) return read;
  }
  state_->answer.push_back(token);
  state_->rewound = false;
  return {};
}

Status DecodingSession::rewind(std::size_t depth) {
  if (depth > state_->answer.size()) {
    return Error{ErrorCode::kInvalidArgument, "the answer has only " + std::to_string(state_->answer.size()) +
                                                  " tokens, not " + std::to_string(depth)};
  }
  if (depth == state_->answer.size()) return {};
  for (const std::size_t sequence : state_->sequences) {
    if (Status back = state_->batch.batch->rewind(sequence, state_->prompt_tokens[sequence] + depth); !back)
      return back;
  }
  if (state_->alone.size() > depth + 1) {
    const std::size_t sequence = *state_->batch.no_retrieval;
    if (Status back = state_->batch.batch->rewind(sequence, state_->prompt_tokens[sequence] + depth); !back)
      return back;
    state_->alone.resize(depth + 1);
  }
  state_->answer.resize(depth);
  state_->rewound = true;
  return {};
}

TokenProbabilities sum_probabilities(std::span<const TokenProbabilities> groups) {
  TokenId largest = -1;
  for (const TokenProbabilities& group : groups) {
    for (const auto& [token, probability] : group) largest = std::max(largest, token);
  }
  // By token: this runs for every token of an answer, over thousands of entries a group.
  std::vector<double> sums(static_cast<std::size_t>(largest + 1), 0.0);
  TokenProbabilities out;
  for (const TokenProbabilities& group : groups) {
    for (const auto& [token, probability] : group) {
      double& sum = sums[static_cast<std::size_t>(token)];
      if (sum == 0) out.emplace_back(token, 0);
      sum += probability;
    }
  }
  for (auto& [token, sum] : out) sum = sums[static_cast<std::size_t>(token)];
  std::sort(out.begin(), out.end(), above);
  return out;
}

}  // namespace casemate
