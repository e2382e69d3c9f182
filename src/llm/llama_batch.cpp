#include <algorithm>
#include <cstring>
#include <exception>
#include <set>
#include <utility>

#include "casemate/llm/prompt_owner.h"
#include "llm/llama_core.h"
#include "llm/sampling.h"
#include "llm/sequence_state.h"
#include "llm/text_stream.h"

namespace casemate::llm {
namespace {

class LlamaBatch final : public LlmBatch {
 public:
  explicit LlamaBatch(std::shared_ptr<LlamaCore> core) : core_(std::move(core)) {}
  ~LlamaBatch() override {
    core_->turns.rest(this);
    {
      const std::lock_guard turn(core_->turns);
      for (Sequence& each : sequences_) core_->streams->release(each.place);
    }
    if (has_places_) core_->places.give(taker_);
  }
  LlamaBatch(const LlamaBatch&) = delete;
  LlamaBatch& operator=(const LlamaBatch&) = delete;

  /// What every sequence begins with.
  Status read(std::span<const TokenId> prefix, std::span<const BatchSequence> sequences) {
    states_.resize(sequences.size());
    longest_ = prefix.size();
    for (std::size_t i = 0; i < sequences.size(); ++i) {
      std::span<const TokenId> from = prefix;
      if (sequences[i].state != nullptr) {
        auto state = unpack_state(*sequences[i].state, core_->state_key);
        if (!state) return state.error();
        if (common_prefix(state->tokens, prefix) != prefix.size()) {
          return Error{ErrorCode::kMismatch, "a sequence state does not begin with the batch's prefix"};
        }
        states_[i] = std::move(*state);
        from = states_[i]->tokens;
      }
      if (sequences[i].alone) {
        if (sequences[i].state != nullptr)
          return Error{ErrorCode::kInvalidArgument, "a sequence that begins from nothing has no state to begin from"};
        from = {};
      }
      std::vector<TokenId> tokens(from.begin(), from.end());
      tokens.insert(tokens.end(), sequences[i].suffix.begin(), sequences[i].suffix.end());
      if (auto status = core_->check_prompt(tokens); !status) return status;
      longest_ = std::max(longest_, tokens.size());
      sequences_.push_back({std::move(tokens), {}, {}});
    }
    return {};
  }

  /// Waits until there is room.
  Status take_places(const std::stop_token& stop) {
    const LlamaStreams& streams = *core_->streams;
    const PlaceLimits most = {static_cast<std::size_t>(core_->options.max_sequences), streams.max_cells()};
    if (auto status = core_->places.take(sequences_.size(), streams.stream_length(longest_), most, stop); !status)
      return status;
    has_places_ = true;
    return {};
  }

  /// With a turn held, after the other two.
  Status start(std::span<const TokenId> prefix, std::span<const BatchSequence> sequences, const std::stop_token& stop) {
    if (auto status = core_->streams->reserve(sequences.size(), longest_); !status) return status;
    for (Sequence& each : sequences_) core_->streams->take(each.place);
    const bool prefix_is_used = std::any_of(sequences.begin(), sequences.end(),
                                            [](const BatchSequence& s) { return s.state == nullptr && !s.alone; });
    if (prefix_is_used) {
      if (auto status = compute_prefix(prefix, stop); !status) return status;
    }
    for (std::size_t i = 0; i < sequences.size(); ++i) {
      const auto own_prefix = sequences[i].alone ? std::span<const TokenId>() : prefix;
      if (auto status = begin_sequence(i, own_prefix, states_[i], stop); !status) return status;
    }
    states_ = {};
    return {};
  }

  std::size_t size() const noexcept override { return sequences_.size(); }
  std::span<const TokenId> tokens(std::size_t sequence) const override {
    return sequence < sequences_.size() ? std::span<const TokenId>(sequences_[sequence].tokens)
                                        : std::span<const TokenId>();
  }
  LlmUsage usage() const noexcept override { return usage_; }

  // What follows needs no turn: it touches nothing but what this batch's own thread changes.
  Result<std::vector<float>> log_probabilities(std::size_t sequence) const override {
    if (spent_) return *spent_;
    if (auto status = check_index(sequence); !status) return status.error();
    if (sequences_[sequence].logits.empty()) return nothing_predicted(sequence);
    return log_softmax(sequences_[sequence].logits);
  }

  Status append(std::span<const BatchAppend> appends, std::stop_token stop) override {
    const LogScope log(core_->options.log);
    if (spent_) return *spent_;
    if (auto status = check_appends(appends); !status) return status;
    return spend_on_error(append_checked(appends, stop));
  }

  /// The cells are forgotten when something is computed again.
  Status rewind(std::size_t sequence, std::size_t tokens) override {
    if (spent_) return *spent_;
    if (auto status = check_index(sequence); !status) return status;
    Sequence& each = sequences_[sequence];
    if (tokens == 0 || tokens > each.tokens.size()) {
      return Error{ErrorCode::kInvalidArgument,
                   "cannot go back to token " + std::to_string(tokens) + " of " + std::to_string(each.tokens.size())};
    }
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
    const LogScope log(core_->options.log);
    if (spent_) return *spent_;
    for (std::size_t i = 0; i < sequences_.size(); ++i) {
      if (sequences_[i].logits.empty()) return nothing_predicted(i);
    }
    auto out = run_greedy(options, stop);
    core_->turns.rest(this);
    if (!out) spent_ = out.error();
    if (out) spent_ = Error{ErrorCode::kInvalidArgument, "the batch was generated to its end; start another one"};
    return out;
  }

  Result<SequenceState> save_state(std::size_t sequence) const override {
    const LogScope log(core_->options.log);
    if (spent_) return *spent_;
    if (auto status = check_index(sequence); !status) return status.error();
    const std::lock_guard turn(core_->turns);
    const Sequence& each = sequences_[sequence];
    // Cells that were gone back over: the sequence's own thread is this one.
    streams().truncate(each.place, each.tokens.size());
    auto bytes = streams().session().save(each.place.stream);
    if (!bytes) return bytes.error();
    return pack_state(sequences_[sequence].tokens, *bytes, core_->state_key);
  }

 private:
  struct Sequence {
    std::vector<TokenId> tokens;
    std::vector<float> logits;  ///< of the next token; empty after going back
    mutable StreamUser place;   ///< changed by whoever has the turn
  };

  LlamaStreams& streams() const { return *core_->streams; }

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

  Status compute_prefix(std::span<const TokenId> prefix, const std::stop_token& stop) {
    std::vector<TokenId>& base = streams().base();
    LlamaSession& session = streams().session();
    if (std::string& owner = streams().base_owner(); owner != PromptOwner::current()) {
      owner = PromptOwner::current();
      base.clear();
    }
    std::size_t reused = common_prefix(base, prefix);
    if (reused < prefix.size()) reused = reusable_tokens(reused, prefix.size());
    session.truncate(0, reused);
    base.resize(reused);
    if (auto status = session.prefill(0, prefix, reused, stop); !status) {
      session.truncate(0, 0);
      base.clear();
      return status;
    }
    base.assign(prefix.begin(), prefix.end());
    count(prefix.size() - reused, reused);
    return {};
  }

  Status begin_sequence(std::size_t i, std::span<const TokenId> prefix, const std::optional<LoadedState>& state,
                        const std::stop_token& stop) {
    Sequence& sequence = sequences_[i];
    LlamaSession& session = streams().session();
    std::size_t from = prefix.size();
    if (state) {
      if (auto status = session.load(sequence.place.stream, state->cells); !status) return status;
      from = state->tokens.size();
    } else if (!prefix.empty()) {
      session.copy(0, sequence.place.stream);
    }
    sequence.place.cells = from;
    // Some tokens are always computed (see kSmallestPiece); that also makes the copy take place.
    const std::size_t redo = reusable_tokens(from, sequence.tokens.size());
    count(0, redo);
    return read_on(sequence, redo, stop);
  }

  /// Computes the tokens from `from` on.
  Status read_on(Sequence& sequence, std::size_t from, const std::stop_token& stop) {
    LlamaSession& session = streams().session();
    streams().truncate(sequence.place, from);
    if (auto status = session.prefill(sequence.place.stream, sequence.tokens, from, stop); !status) {
      // Pieces that were computed before it went wrong.
      session.truncate(sequence.place.stream, sequence.place.cells);
      return status;
    }
    sequence.place.cells = sequence.tokens.size();
    count(sequence.tokens.size() - from, 0);
    return keep_logits(sequence, session.last_logits());
  }

  static Status keep_logits(Sequence& sequence, const Result<std::span<const float>>& logits) {
    if (!logits) return logits.error();
    sequence.logits.assign(logits->begin(), logits->end());
    return {};
  }

  void count(std::size_t decoded, std::size_t reused) {
    usage_.decoded_tokens += decoded;
    usage_.reused_tokens += reused;
    core_->count(decoded, reused);
  }

  Status append_checked(std::span<const BatchAppend> appends, const std::stop_token& stop) {
    std::vector<std::pair<std::size_t, TokenId>> single;
    std::vector<BatchAppend> longer;
    std::size_t longest = 0;
    for (const BatchAppend& append : appends) {
      if (append.tokens.size() == 1) {
        single.emplace_back(append.sequence, append.tokens.front());
        continue;
      }
      longer.push_back(append);
      longest = std::max(longest, sequences_[append.sequence].tokens.size() + append.tokens.size());
    }
    if (auto status = append_pieces(longer, longest, stop); !status) return status;
    return step(single, stop);
  }

  Status append_pieces(std::span<const BatchAppend> appends, std::size_t longest, const std::stop_token& stop) {
    if (appends.empty()) return {};
    core_->turns.rest(this);
    if (!core_->turns.lock_unless(stop)) return stopped();
    const std::lock_guard turn(core_->turns, std::adopt_lock);
    if (auto status = streams().reserve(0, longest); !status) return status;
    for (const BatchAppend& append : appends) {
      Sequence& sequence = sequences_[append.sequence];
      const std::size_t before = sequence.tokens.size();
      sequence.tokens.insert(sequence.tokens.end(), append.tokens.begin(), append.tokens.end());
      const std::size_t from = reusable_tokens(before, sequence.tokens.size());
      if (auto status = read_on(sequence, from, stop); !status) return status;
    }
    return {};
  }

  /// One token each, all in one go, and together with the steps of other batches that wait at the same time.
  Status step(std::span<const std::pair<std::size_t, TokenId>> tokens, const std::stop_token& stop) {
    if (tokens.empty()) return {};
    LlamaStep step;
    step.owner = this;
    step.stop = stop;
    std::vector<bool> goes_on(sequences_.size(), false);
    for (const auto& [i, token] : tokens) {
      Sequence& each = sequences_[i];
      goes_on[i] = true;
      step.rows.push_back({&each.place, token, each.tokens.size(), &each.logits});
    }
    for (std::size_t i = 0; i < sequences_.size(); ++i) {
      if (!goes_on[i]) step.resting.push_back(&sequences_[i].place);
    }
    core_->turns.step(step, [core = core_.get()](std::span<LlamaStep* const> steps) {
      core->count(core->streams->compute(steps), 0);
    });
    if (!step.status) return step.status;
    usage_.decoded_tokens += tokens.size();
    for (const auto& [i, token] : tokens) sequences_[i].tokens.push_back(token);
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
      }
      if (chosen.empty() || round + 1 == options.max_new_tokens) break;
      if (auto status = step(chosen, stop); !status) return status.error();
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
  std::vector<std::optional<LoadedState>> states_;  ///< until the batch has begun
  std::size_t longest_ = 0;                         ///< of prefix and sequences as they begin
  bool has_places_ = false;
  std::thread::id taker_ = std::this_thread::get_id();
  std::optional<Error> spent_;
  LlmUsage usage_;
};

}  // namespace

Result<std::unique_ptr<LlmBatch>> start_llama_batch(const std::shared_ptr<LlamaCore>& core,
                                                    std::span<const TokenId> prefix,
                                                    std::span<const BatchSequence> sequences,
                                                    const std::stop_token& stop) {
  if (sequences.empty()) return Error{ErrorCode::kInvalidArgument, "a batch needs at least one sequence"};
  auto batch = std::make_unique<LlamaBatch>(core);
  if (auto read = batch->read(prefix, sequences); !read) return core->in_model(read.error());
  if (auto taken = batch->take_places(stop); !taken) return core->in_model(taken.error());
  Status status = stopped();
  if (core->turns.lock_unless(stop)) {
    const std::lock_guard turn(core->turns, std::adopt_lock);
    const LogScope log(core->options.log);
    core->count(0, 0, 1);
    status = batch->start(prefix, sequences, stop);
  }
  if (!status) return core->in_model(status.error());  // `batch` takes a turn when it ends
  return std::unique_ptr<LlmBatch>(std::move(batch));
}

}  // namespace casemate::llm
