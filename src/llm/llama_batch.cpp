#include <algorithm>
#include <cstring>
#include <exception>
#include <set>
#include <utility>

#include "llm/llama_core.h"
#include "llm/sampling.h"
#include "llm/sequence_state.h"
#include "llm/text_stream.h"

namespace casemate::llm {
namespace {

/// Room that a batch has for growing before its cells are laid out anew.
constexpr std::size_t kHeadroomTokens = 64;

class LlamaBatch final : public LlmBatch {
 public:
  explicit LlamaBatch(std::shared_ptr<LlamaCore> core) : core_(std::move(core)) {}
  ~LlamaBatch() override {
    const std::lock_guard lock(core_->mutex);
    for (std::size_t i = 0; i < started_; ++i) core_->batch->truncate(stream(i), 0);
    core_->batch_in_use = false;
  }
  LlamaBatch(const LlamaBatch&) = delete;
  LlamaBatch& operator=(const LlamaBatch&) = delete;

  /// With the lock held.
  Status start(std::span<const TokenId> prefix, std::span<const BatchSequence> sequences, const std::stop_token& stop) {
    std::vector<std::optional<LoadedState>> states(sequences.size());
    std::size_t longest = prefix.size();
    for (std::size_t i = 0; i < sequences.size(); ++i) {
      std::span<const TokenId> from = prefix;
      if (sequences[i].state != nullptr) {
        auto state = unpack_state(*sequences[i].state, core_->state_key);
        if (!state) return state.error();
        if (common_prefix(state->tokens, prefix) != prefix.size()) {
          return Error{ErrorCode::kMismatch, "a sequence state does not begin with the batch's prefix"};
        }
        states[i] = std::move(*state);
        from = states[i]->tokens;
      }
      if (sequences[i].alone) {
        if (sequences[i].state != nullptr)
          return Error{ErrorCode::kInvalidArgument, "a sequence that begins from nothing has no state to begin from"};
        from = {};
      }
      std::vector<TokenId> tokens(from.begin(), from.end());
      tokens.insert(tokens.end(), sequences[i].suffix.begin(), sequences[i].suffix.end());
      if (auto status = core_->check_prompt(tokens); !status) return status;
      longest = std::max(longest, tokens.size());
      sequences_.push_back({std::move(tokens), {}});
    }
    if (auto status = reserve(sequences.size(), longest + kHeadroomTokens); !status) return status;
    const bool prefix_is_used = std::any_of(sequences.begin(), sequences.end(),
                                            [](const BatchSequence& s) { return s.state == nullptr && !s.alone; });
    if (prefix_is_used) {
      if (auto status = compute_prefix(prefix, stop); !status) return status;
    }
    for (std::size_t i = 0; i < sequences.size(); ++i) {
      const auto own_prefix = sequences[i].alone ? std::span<const TokenId>() : prefix;
      if (auto status = begin_sequence(i, own_prefix, states[i], stop); !status) return status;
    }
    return {};
  }

  std::size_t size() const noexcept override { return sequences_.size(); }
  std::span<const TokenId> tokens(std::size_t sequence) const override {
    return sequence < sequences_.size() ? std::span<const TokenId>(sequences_[sequence].tokens)
                                        : std::span<const TokenId>();
  }
  LlmUsage usage() const noexcept override { return usage_; }

  Result<std::vector<float>> log_probabilities(std::size_t sequence) const override {
    const std::lock_guard lock(core_->mutex);
    if (spent_) return *spent_;
    if (auto status = check_index(sequence); !status) return status.error();
    if (sequences_[sequence].logits.empty()) return nothing_predicted(sequence);
    return log_softmax(sequences_[sequence].logits);
  }

  Status append(std::span<const BatchAppend> appends, std::stop_token stop) override {
    const std::lock_guard lock(core_->mutex);
    const LogScope log(core_->options.log);
    if (spent_) return *spent_;
    if (auto status = check_appends(appends); !status) return status;
    return spend_on_error(append_checked(appends, stop));
  }

  Status rewind(std::size_t sequence, std::size_t tokens) override {
    const std::lock_guard lock(core_->mutex);
    if (spent_) return *spent_;
    if (auto status = check_index(sequence); !status) return status;
    Sequence& each = sequences_[sequence];
    if (tokens == 0 || tokens > each.tokens.size()) {
      return Error{ErrorCode::kInvalidArgument,
                   "cannot go back to token " + std::to_string(tokens) + " of " + std::to_string(each.tokens.size())};
    }
    core_->batch->truncate(stream(sequence), tokens);
    each.tokens.resize(tokens);
    each.logits.clear();
    return {};
  }

  Result<std::vector<Generation>> generate_greedy(int max_new_tokens, std::span<const std::string> stop_strings,
                                                  std::stop_token stop) override {
    GenerateOptions options;
    options.max_new_tokens = max_new_tokens;
    options.stop.assign(stop_strings.begin(), stop_strings.end());
    if (auto status = validate(options); !status) return status.error();
    const std::lock_guard lock(core_->mutex);
    const LogScope log(core_->options.log);
    if (spent_) return *spent_;
    for (std::size_t i = 0; i < sequences_.size(); ++i) {
      if (sequences_[i].logits.empty()) return nothing_predicted(i);
    }
    auto out = run_greedy(options, stop);
    if (!out) spent_ = out.error();
    if (out) spent_ = Error{ErrorCode::kInvalidArgument, "the batch was generated to its end; start another one"};
    return out;
  }

  Result<SequenceState> save_state(std::size_t sequence) const override {
    const std::lock_guard lock(core_->mutex);
    const LogScope log(core_->options.log);
    if (spent_) return *spent_;
    if (auto status = check_index(sequence); !status) return status.error();
    auto bytes = core_->batch->save(stream(sequence));
    if (!bytes) return bytes.error();
    return pack_state(sequences_[sequence].tokens, *bytes, core_->state_key);
  }

 private:
  struct Sequence {
    std::vector<TokenId> tokens;
    std::vector<float> logits;  ///< of the next token; empty after going back
  };

  static int stream(std::size_t sequence) { return static_cast<int>(sequence) + 1; }

  Status check_index(std::size_t sequence) const {
    if (sequence < sequences_.size()) return {};
    return Error{ErrorCode::kInvalidArgument, "there is no sequence " + std::to_string(sequence) + " in a batch of " +
                                                  std::to_string(sequences_.size())};
  }

  static Error nothing_predicted(std::size_t sequence) {
    return {ErrorCode::kInvalidArgument,
            "sequence " + std::to_string(sequence) + " went back; append to it before asking what comes next"};
  }

  Status check_appends(std::span<const BatchAppend> appends) const {
    std::set<std::size_t> seen;
    for (const BatchAppend& append : appends) {
      if (auto status = check_index(append.sequence); !status) return status;
      if (!seen.insert(append.sequence).second) {
        return Error{ErrorCode::kInvalidArgument, "sequence " + std::to_string(append.sequence) + " is named twice"};
      }
      if (append.tokens.empty()) return Error{ErrorCode::kInvalidArgument, "nothing to append"};
      if (auto status = core_->vocabulary->check(append.tokens); !status) return status;
      const std::size_t length = sequences_[append.sequence].tokens.size() + append.tokens.size();
      if (length > static_cast<std::size_t>(core_->context_tokens)) {
        return Error{ErrorCode::kLimit, "sequence " + std::to_string(append.sequence) + " would have " +
                                            std::to_string(length) + " tokens and the context holds " +
                                            std::to_string(core_->context_tokens)};
      }
    }
    return {};
  }

  Status spend_on_error(Status status) {
    if (!status) spent_ = status.error();
    return status;
  }

  /// Makes a session of at least `count` sequences of `length` tokens, moving what is there.
  Status reserve(std::size_t count, std::size_t length) {
    const int streams = static_cast<int>(count) + 1;
    const int tokens = static_cast<int>(std::min(length, static_cast<std::size_t>(core_->context_tokens) + 1));
    LlamaSession* old = core_->batch.get();
    if (old != nullptr && old->options().streams >= streams && old->options().tokens_per_stream >= tokens) return {};
    const int wider = std::max(streams, old == nullptr ? 0 : old->options().streams);
    const int longer = std::max(tokens, old == nullptr ? 0 : old->options().tokens_per_stream);
    auto fresh = core_->make_session(wider, longer);
    if (!fresh) return fresh.error();
    if (old != nullptr) {
      for (int s = 0; s <= static_cast<int>(started_); ++s) {
        if (s == 0 && core_->base.empty()) continue;
        auto bytes = old->save(s);
        if (!bytes) return bytes.error();
        if (auto status = (*fresh)->load(s, *bytes); !status) return status;
      }
    }
    core_->batch = std::move(*fresh);
    return {};
  }

  Status compute_prefix(std::span<const TokenId> prefix, const std::stop_token& stop) {
    std::size_t reused = common_prefix(core_->base, prefix);
    if (reused < prefix.size()) reused = reusable_tokens(reused, prefix.size());
    core_->batch->truncate(0, reused);
    core_->base.resize(reused);
    if (auto status = core_->batch->prefill(0, prefix, reused, stop); !status) {
      core_->batch->truncate(0, 0);
      core_->base.clear();
      return status;
    }
    core_->base.assign(prefix.begin(), prefix.end());
    count(prefix.size() - reused, reused);
    return {};
  }

  Status begin_sequence(std::size_t i, std::span<const TokenId> prefix, const std::optional<LoadedState>& state,
                        const std::stop_token& stop) {
    Sequence& sequence = sequences_[i];
    std::size_t from = prefix.size();
    if (state) {
      if (auto status = core_->batch->load(stream(i), state->cells); !status) return status;
      from = state->tokens.size();
    } else if (!prefix.empty()) {
      core_->batch->copy(0, stream(i));
    }
    started_ = i + 1;
    // Some tokens are always computed (see kSmallestPiece); that also makes the copy take place.
    const std::size_t redo = reusable_tokens(from, sequence.tokens.size());
    core_->batch->truncate(stream(i), redo);
    if (auto status = core_->batch->prefill(stream(i), sequence.tokens, redo, stop); !status) return status;
    count(sequence.tokens.size() - redo, redo);
    return keep_logits(sequence, core_->batch->last_logits());
  }

  static Status keep_logits(Sequence& sequence, const Result<std::span<const float>>& logits) {
    if (!logits) return logits.error();
    sequence.logits.assign(logits->begin(), logits->end());
    return {};
  }

  void count(std::size_t decoded, std::size_t reused) {
    usage_.decoded_tokens += decoded;
    usage_.reused_tokens += reused;
    core_->usage.decoded_tokens += decoded;
    core_->usage.reused_tokens += reused;
  }

  Status append_checked(std::span<const BatchAppend> appends, const std::stop_token& stop) {
    std::size_t longest = 0;
    for (const BatchAppend& append : appends) {
      longest = std::max(longest, sequences_[append.sequence].tokens.size() + append.tokens.size());
    }
    // One cell more than the longest, for the filler row of `step`.
    if (auto status = reserve(sequences_.size(), longest + 1); !status) return status;
    std::vector<std::pair<std::size_t, TokenId>> single;
    for (const BatchAppend& append : appends) {
      if (append.tokens.size() == 1) {
        single.emplace_back(append.sequence, append.tokens.front());
        continue;
      }
      Sequence& sequence = sequences_[append.sequence];
      const std::size_t before = sequence.tokens.size();
      sequence.tokens.insert(sequence.tokens.end(), append.tokens.begin(), append.tokens.end());
      const std::size_t from = reusable_tokens(before, sequence.tokens.size());
      core_->batch->truncate(stream(append.sequence), from);
      if (auto status = core_->batch->prefill(stream(append.sequence), sequence.tokens, from, stop); !status) {
        return status;
      }
      count(sequence.tokens.size() - from, 0);
      if (auto status = keep_logits(sequence, core_->batch->last_logits()); !status) return status;
    }
    return step(std::move(single), stop);
  }

  /// One token each, all in one go. llama.cpp computes neighbouring streams together, so a gap between them gets a
  /// filler row that is forgotten afterwards.
  Status step(std::vector<std::pair<std::size_t, TokenId>> tokens, const std::stop_token& stop) {
    if (tokens.empty()) return {};
    std::sort(tokens.begin(), tokens.end());
    std::vector<Row> rows;
    auto next = tokens.begin();
    for (std::size_t i = tokens.front().first; i <= tokens.back().first; ++i) {
      const bool wanted = next->first == i;
      rows.push_back({wanted ? next->second : tokens.front().second,
                      static_cast<std::int32_t>(sequences_[i].tokens.size()), stream(i), true});
      if (wanted) ++next;
    }
    if (auto status = core_->batch->decode(rows, stop); !status) return status;
    count(rows.size(), 0);
    for (const auto& [i, token] : tokens) {
      sequences_[i].tokens.push_back(token);
      if (auto status = keep_logits(sequences_[i], core_->batch->logits(i - tokens.front().first)); !status) {
        return status;
      }
    }
    for (std::size_t i = tokens.front().first; i <= tokens.back().first; ++i) {
      core_->batch->truncate(stream(i), sequences_[i].tokens.size());
    }
    return {};
  }

  Result<std::vector<Generation>> run_greedy(const GenerateOptions& options, const std::stop_token& stop) {
    std::vector<Generation> out(sequences_.size());
    const OnText nobody;
    std::vector<TextStream> streams(sequences_.size(), TextStream(options.stop, nobody));
    std::vector<bool> done(sequences_.size(), false);
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i].prompt_tokens = sequences_[i].tokens.size();
      out[i].finish = FinishReason::kLength;
    }
    const auto context = static_cast<std::size_t>(core_->context_tokens);
    for (int round = 0; round < options.max_new_tokens; ++round) {
      std::vector<std::pair<std::size_t, TokenId>> chosen;
      std::size_t longest = 0;
      for (std::size_t i = 0; i < out.size(); ++i) {
        if (done[i]) continue;
        const TokenId id = argmax(sequences_[i].logits);
        if (id < 0) return Error{ErrorCode::kModel, "the model's output is not a number"};
        if (core_->vocabulary->is_end(id)) {
          out[i].finish = FinishReason::kEnd;
          done[i] = true;
          continue;
        }
        out[i].ids.push_back(id);
        done[i] = !streams[i].push(core_->vocabulary->piece(id, false));
        if (done[i]) out[i].finish = FinishReason::kStopString;
        if (out[i].prompt_tokens + out[i].ids.size() >= context) done[i] = true;
        if (!done[i]) chosen.emplace_back(i, id);
        longest = std::max(longest, sequences_[i].tokens.size() + 2);
      }
      if (chosen.empty() || round + 1 == options.max_new_tokens) break;
      if (auto status = reserve(sequences_.size(), longest); !status) return status.error();
      if (auto status = step(std::move(chosen), stop); !status) return status.error();
    }
    for (std::size_t i = 0; i < out.size(); ++i) {
      streams[i].finish();
      out[i].text = UntrustedText(streams[i].text());
      out[i].generated_tokens = out[i].ids.size();
    }
    return out;
  }

  std::shared_ptr<LlamaCore> core_;
  std::vector<Sequence> sequences_;
  std::size_t started_ = 0;  ///< sequences that have cells
  std::optional<Error> spent_;
  LlmUsage usage_;
};

}  // namespace

Result<std::unique_ptr<LlmBatch>> start_llama_batch(const std::shared_ptr<LlamaCore>& core,
                                                    std::span<const TokenId> prefix,
                                                    std::span<const BatchSequence> sequences,
                                                    const std::stop_token& stop) {
  if (sequences.empty()) return Error{ErrorCode::kInvalidArgument, "a batch needs at least one sequence"};
  if (sequences.size() > static_cast<std::size_t>(core->options.max_sequences)) {
    return Error{ErrorCode::kLimit, "a batch of " + std::to_string(sequences.size()) +
                                        " sequences was asked for and max_sequences is " +
                                        std::to_string(core->options.max_sequences)};
  }
  auto batch = std::unique_ptr<LlamaBatch>();
  Status status;
  {
    const std::lock_guard lock(core->mutex);
    const LogScope log(core->options.log);
    if (core->batch_in_use) {
      return Error{ErrorCode::kUnavailable, "another batch of this model is in use; end it first"};
    }
    core->batch_in_use = true;
    ++core->usage.calls;
    batch = std::make_unique<LlamaBatch>(core);
    status = batch->start(prefix, sequences, stop);
  }
  if (!status) return core->in_model(status.error());  // `batch` takes the lock when it ends
  return std::unique_ptr<LlmBatch>(std::move(batch));
}

}  // namespace casemate::llm
