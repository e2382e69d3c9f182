#include "casemate/llm/llama_model.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "casemate/core/thread_pool.h"
#include "casemate/core/untrusted_text.h"
#include "casemate/llm/prompt_owner.h"
#include "llm/llama_adapter.h"
#include "llm/llama_answer.h"
#include "llm/llama_core.h"
#include "llm/llama_file.h"
#include "llm/sampling.h"

namespace casemate {
namespace llm {

Status LlamaCore::check_prompt(std::span<const TokenId> tokens) const {
  if (tokens.empty()) return Error{ErrorCode::kInvalidArgument, "the prompt has no tokens"};
  if (auto status = vocabulary->check(tokens); !status) return status;
  if (tokens.size() >= static_cast<std::size_t>(context_tokens)) {
    return Error{ErrorCode::kLimit, "the prompt has " + std::to_string(tokens.size()) +
                                        " tokens and the context holds " + std::to_string(context_tokens) +
                                        ", answer included; retrieve less or raise context_tokens (at most " +
                                        std::to_string(llama_model_n_ctx_train(model.get())) + " for this model)"};
  }
  return {};
}

Result<std::unique_ptr<LlamaSession>> LlamaCore::make_session(int stream_count, int tokens_per_stream,
                                                              AttentionTap* watched_by) const {
  SessionOptions session;
  session.streams = stream_count;
  session.tokens_per_stream = tokens_per_stream;
  session.chunk_tokens = options.chunk_tokens;
  session.threads = threads;
  session.adapter = adapter;
  session.adapter_scale = options.adapter_scale;
  if (watched_by != nullptr) watched_by->into(session);
  return LlamaSession::create(model.get(), pool.get(), session);
}

Result<std::size_t> LlamaCore::begin_prompt(std::span<const TokenId> prefix, const std::stop_token& stop) {
  if (const std::string* state = fixed_prefixes.find(prefix); state != nullptr) {
    kept.clear();
    if (main->load(0, *state)) {
      kept.assign(prefix.begin(), prefix.end());
      return prefix.size();
    }
  }
  const std::size_t reused = reusable_tokens(common_prefix(kept, prefix), prefix.size());
  main->truncate(0, reused);
  kept.resize(reused);
  if (auto status = main->prefill(0, prefix, reused, stop); !status) return status.error();
  kept.assign(prefix.begin(), prefix.end());
  if (auto state = main->save(0)) fixed_prefixes.keep(prefix, *std::move(state));
  return reused;
}

void LlamaCore::forget_others(std::span<const TokenId> tokens, std::size_t fixed) {
  if (kept_owner == PromptOwner::current()) return;
  kept_owner = PromptOwner::current();
  const std::size_t ours = common_prefix(kept, tokens.first(std::min(fixed, tokens.size())));
  main->truncate(0, ours);
  kept.resize(ours);
}

Result<std::size_t> LlamaCore::prepare(std::span<const TokenId> tokens, const std::stop_token& stop,
                                       std::size_t fixed) {
  if (auto status = check_prompt(tokens); !status) return status.error();
  forget_others(tokens, fixed);
  const auto compute = [&]() -> Result<std::size_t> {
    std::size_t known = common_prefix(kept, tokens);
    // Where a whole piece follows, so that the pieces are those of a prompt that is read from a cache.
    const bool is_worth_keeping = fixed >= kShortestFixedPrefix && fixed + kSmallestPiece <= tokens.size();
    if (known < fixed && is_worth_keeping) {
      const auto begun = begin_prompt(tokens.first(fixed), stop);
      if (!begun) return begun.error();
      known = *begun;
    }
    const std::size_t from = reusable_tokens(common_prefix(kept, tokens), tokens.size());
    main->truncate(0, from);
    kept.resize(from);
    if (auto status = main->prefill(0, tokens, from, stop); !status) return status.error();
    return std::min(known, from);
  };
  const auto reused = compute();
  if (!reused) {
    main->truncate(0, 0);
    kept.clear();
    return reused.error();
  }
  kept.assign(tokens.begin(), tokens.end());
  count(tokens.size() - *reused, *reused);
  return *reused;
}

namespace {

class LlamaLanguageModel final : public LanguageModel {
 public:
  explicit LlamaLanguageModel(std::shared_ptr<LlamaCore> core) : core_(std::move(core)) {}

  const ModelInfo& info() const noexcept override { return core_->info; }
  Capabilities capabilities() const noexcept override {
    return {
        Feature::kTokens,           Feature::kGrammar,   Feature::kFullLogProbabilities, Feature::kTopLogProbabilities,
        Feature::kContinuationLoss, Feature::kAttention, Feature::kSharedPrefix,         Feature::kSequenceState};
  }
  Result<Tokens> tokenize(std::string_view text, SpecialTokens mode) const override {
    return core_->vocabulary->tokenize(text, mode);
  }
  Result<PromptTokens> tokenize_prompt(const Prompt& prompt) const override {
    return core_->vocabulary->tokenize_prompt(prompt);
  }
  Result<std::string> detokenize(std::span<const TokenId> ids) const override {
    return core_->vocabulary->detokenize(ids);
  }
  bool is_special(TokenId id) const noexcept override { return core_->vocabulary->is_special(id); }
  bool is_end_token(TokenId id) const noexcept override { return core_->vocabulary->is_end(id); }

  Result<Generation> generate(const Prompt& prompt, const GenerateOptions& options, std::stop_token stop,
                              const OnText& on_text) override {
    auto tokens = tokenize_prompt(prompt);
    if (!tokens) return tokens.error();
    return answer(tokens->ids, fixed_tokens(prompt, *tokens), options, stop, on_text);
  }

  Result<Generation> generate_tokens(std::span<const TokenId> prompt, const GenerateOptions& options,
                                     std::stop_token stop, const OnText& on_text) override {
    return answer(prompt, 0, options, stop, on_text);
  }

  Result<Generation> generate_with_attention(std::span<const TokenId> prompt, const GenerateOptions& options,
                                             const AttentionVisitor& visitor, std::stop_token stop) override {
    return answer(prompt, 0, options, stop, {}, &visitor);
  }

  Result<std::vector<float>> next_token_log_probabilities(std::span<const TokenId> prompt,
                                                          std::stop_token stop) override {
    if (!core_->main_turns.lock_unless(stop)) return core_->in_model(stopped());
    const std::lock_guard whole(core_->main_turns, std::adopt_lock);
    const LogScope log(core_->options.log);
    core_->count(0, 0, 1);
    if (!core_->turns.lock_unless(stop)) return core_->in_model(stopped());
    const std::lock_guard turn(core_->turns, std::adopt_lock);
    if (auto reused = core_->prepare(prompt, stop); !reused) return core_->in_model(reused.error());
    auto logits = last_logits();
    if (!logits) return core_->in_model(logits.error());
    return log_softmax(*logits);
  }

  Result<ContinuationScore> score_continuation(std::span<const TokenId> prompt, std::span<const TokenId> continuation,
                                               std::stop_token stop) override {
    if (!core_->main_turns.lock_unless(stop)) return core_->in_model(stopped());
    const std::lock_guard whole(core_->main_turns, std::adopt_lock);
    const LogScope log(core_->options.log);
    core_->count(0, 0, 1);
    if (auto status = core_->check_prompt(prompt); !status) return core_->in_model(status.error());
    if (continuation.empty()) return Error{ErrorCode::kInvalidArgument, "the continuation has no tokens"};
    std::vector<TokenId> tokens(prompt.begin(), prompt.end());
    tokens.insert(tokens.end(), continuation.begin(), continuation.end());
    if (auto status = core_->check_prompt(tokens); !status) return core_->in_model(status.error());
    tokens.pop_back();
    if (!core_->turns.lock_unless(stop)) return core_->in_model(stopped());
    const std::lock_guard turn(core_->turns, std::adopt_lock);
    core_->forget_others(tokens, 0);
    auto score = score_rows(tokens, prompt.size() - 1, continuation, stop);
    if (!score) {
      core_->main->truncate(0, 0);
      core_->kept.clear();
      return core_->in_model(score.error());
    }
    core_->kept = std::move(tokens);
    return score;
  }

  Status attention(std::span<const TokenId> tokens, const AttentionVisitor& visitor, std::stop_token stop) override {
    const LogScope log(core_->options.log);
    core_->count(0, 0, 1);
    if (auto status = core_->check_prompt(tokens); !status) return core_->in_model(status.error());
    if (!core_->turns.lock_unless(stop)) return core_->in_model(stopped());
    const std::lock_guard turn(core_->turns, std::adopt_lock);
    if (auto status = run_llama_attention(*core_, tokens, visitor, stop); !status)
      return core_->in_model(status.error());
    return {};
  }

  Result<std::unique_ptr<LlmBatch>> start_batch(std::span<const TokenId> prefix,
                                                std::span<const BatchSequence> sequences,
                                                std::stop_token stop) override {
    return start_llama_batch(core_, prefix, sequences, stop);
  }

  LlmUsage usage() const override {
    const std::lock_guard lock(core_->usage_mutex);
    return core_->usage;
  }

 private:
  struct Watch {
    Watch(AttentionTap& tap, const AttentionVisitor& visitor) : tap_(tap) { tap_.watch(visitor); }
    ~Watch() { tap_.look_away(); }
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;
    AttentionTap& tap_;
  };

  /// `visitor`: sees the attention of prompt and answer; null where nobody asks for it.
  Result<Generation> answer(std::span<const TokenId> prompt, std::size_t fixed, const GenerateOptions& options,
                            const std::stop_token& stop, const OnText& on_text,
                            const AttentionVisitor* visitor = nullptr) {
    if (auto status = validate(options); !status) return status.error();
    auto grammar = LlamaGrammar::create(*core_, options.grammar);
    if (!grammar) return grammar.error();
    if (!core_->main_turns.lock_unless(stop)) return core_->in_model(stopped());
    std::unique_lock whole(core_->main_turns, std::adopt_lock);
    const LogScope log(core_->options.log);
    core_->count(0, 0, 1);
    if (visitor != nullptr) {
      const Watch watch(core_->tap, *visitor);
      if (auto status = read_watched(prompt, stop); !status) return core_->in_model(status.error());
      return answer_prompt(*core_, whole, {prompt, options, on_text, *grammar, true}, stop);
    }
    const auto reused = read_prompt(prompt, fixed, stop);
    if (!reused) return core_->in_model(reused.error());
    auto generation = answer_prompt(*core_, whole, {prompt, options, on_text, *grammar}, stop);
    if (generation) generation->cached_tokens = *reused;
    return generation;
  }

  /// A turn of its own: batches of other threads go on before the answer.
  Result<std::size_t> read_prompt(std::span<const TokenId> prompt, std::size_t fixed, const std::stop_token& stop) {
    if (!core_->turns.lock_unless(stop)) return stopped();
    const std::lock_guard turn(core_->turns, std::adopt_lock);
    return core_->prepare(prompt, stop, fixed);
  }
  /// The whole prompt anew: what a cache holds was computed when nobody watched.
  Status read_watched(std::span<const TokenId> prompt, const std::stop_token& stop) {
    if (!core_->turns.lock_unless(stop)) return stopped();
    const std::lock_guard turn(core_->turns, std::adopt_lock);
    if (auto status = core_->check_prompt(prompt); !status) return status;
    core_->main->truncate(0, 0);
    core_->kept.clear();
    if (auto status = decode_watched(core_->tap, *core_->main, prompt, stop); !status) {
      core_->main->truncate(0, 0);
      return status;
    }
    core_->kept.assign(prompt.begin(), prompt.end());
    core_->kept_owner = PromptOwner::current();
    core_->count(prompt.size(), 0);
    return {};
  }
  /// Logits of the last row of the last decode.
  Result<std::span<const float>> last_logits() const { return core_->main->last_logits(); }

  /// Computes `tokens`; the row at first + i predicts continuation[i].
  Result<ContinuationScore> score_rows(std::span<const TokenId> tokens, std::size_t first,
                                       std::span<const TokenId> continuation, const std::stop_token& stop) {
    LlamaSession& session = *core_->main;
    // Two runs of pieces: up to wanted_from without logits, then with; each empty or a whole piece long.
    std::size_t wanted_from = reusable_tokens(first, tokens.size());
    if (wanted_from < kSmallestPiece) wanted_from = 0;
    std::size_t at = std::min(common_prefix(core_->kept, tokens), wanted_from);
    if (at < wanted_from) at = reusable_tokens(at, wanted_from);
    session.truncate(0, at);
    core_->count(tokens.size() - at, at);
    const std::size_t chunk = static_cast<std::size_t>(session.options().max_logit_rows) - kSmallestPiece;
    if (auto status = session.prefill(0, tokens.first(wanted_from), at, stop); !status) return status.error();
    ContinuationScore score;
    std::vector<Row> rows;
    for (std::size_t from = wanted_from; from < tokens.size();) {
      const std::size_t end = next_piece_end(from, tokens.size(), chunk);
      rows.clear();
      for (std::size_t i = from; i < end; ++i) {
        rows.push_back({tokens[i], static_cast<std::int32_t>(i), 0, i >= first});
      }
      if (auto status = session.decode(rows, stop); !status) return status.error();
      for (std::size_t i = std::max(from, first); i < end; ++i) {
        auto logits = session.logits(i - from);
        if (!logits) return logits.error();
        score.log_probabilities.push_back(log_probability(*logits, continuation[i - first]));
        score.loss -= score.log_probabilities.back();
      }
      from = end;
    }
    score.loss /= static_cast<double>(continuation.size());
    return score;
  }

  std::shared_ptr<LlamaCore> core_;
};

/// llama.cpp has 256 in one context, and spare streams are among them.
constexpr int kMostSequences = 256 - static_cast<int>(kSpareStreams);

Status validate_options(const LlamaOptions& options) {
  const auto check = [](const char* field, int value, int low, int high) -> Status {
    if (value >= low && value <= high) return {};
    return Error{ErrorCode::kInvalidOption, std::string(field) + " is " + std::to_string(value) + "; it must be in [" +
                                                std::to_string(low) + ", " + std::to_string(high) + "]"};
  };
  if (auto status = check("context_tokens", options.context_tokens, 256, 1 << 24); !status) return status;
  if (auto status = check("threads", options.threads, 0, 1 << 16); !status) return status;
  if (auto status = check("chunk_tokens", options.chunk_tokens, 64, 2048); !status) return status;
  if (!(options.adapter_scale >= -10.0F && options.adapter_scale <= 10.0F)) {
    return Error{ErrorCode::kInvalidOption,
                 "adapter_scale is " + std::to_string(options.adapter_scale) + "; it must be in [-10, 10]"};
  }
  if (auto status = check("max_cells", options.max_cells, 1, 1 << 30); !status) return status;
  return check("max_sequences", options.max_sequences, 1, kMostSequences);
}

}  // namespace

Result<LlamaModelHandle> load_handle(const std::string& path, const LlamaOptions& options) {
  const LogScope log(options.log);
  llama_model_params params = llama_model_default_params();
  params.n_gpu_layers = 0;
  params.load_mode = options.use_mmap ? LLAMA_LOAD_MODE_MMAP : LLAMA_LOAD_MODE_NONE;
  params.check_tensors = options.check_tensors;
  params.use_extra_bufts = options.repack_weights;
  std::string reason;
  try {
    LlamaModelHandle model(llama_model_load_from_file(path.c_str(), params));
    if (model != nullptr) return model;
    reason = log.last_error();
  } catch (const std::exception& failure) {
    reason = failure.what();
  }
  return Error{ErrorCode::kInvalidInput,
               path + ": llama.cpp cannot load this model" + (reason.empty() ? "" : " (" + reason + ")")};
}

}  // namespace llm

Result<std::unique_ptr<LanguageModel>> load_llama_model(const std::string& path, const LlamaOptions& options) {
  if (auto status = llm::validate_options(options); !status) return status.error();
  auto file = llm::look_at_gguf_file(path);
  if (!file) return file.error();
  auto core = std::make_shared<llm::LlamaCore>();
  core->options = options;
  auto model = llm::load_handle(path, options);
  if (!model) return model.error();
  core->model = std::move(*model);
  if (llama_model_has_encoder(core->model.get()) || !llama_model_has_decoder(core->model.get())) {
    return Error{ErrorCode::kUnsupported, path + ": is not a causal language model"};
  }
  const int cores = ThreadPool::available_cores();
  core->threads = options.threads == 0 ? cores : std::min(options.threads, cores);
  core->context_tokens = std::min(options.context_tokens, llama_model_n_ctx_train(core->model.get()));
  core->vocabulary.emplace(core->model.get());

  ggml_threadpool_params pool;
  ggml_threadpool_params_init(&pool, core->threads);
  pool.poll = 0;  // waiting threads sleep
  core->pool.reset(ggml_threadpool_new(&pool));
  if (core->pool == nullptr) return Error{ErrorCode::kModel, path + ": no threads could be started"};

  ModelInfo& info = core->info;
  info.name = options.name.empty() ? path.substr(path.find_last_of('/') + 1) : options.name;
  info.backend = "llama.cpp";
  info.context_tokens = static_cast<std::size_t>(core->context_tokens);
  info.vocabulary_size = core->vocabulary->size();
  info.layers = static_cast<std::size_t>(llama_model_n_layer(core->model.get()));
  info.has_chat_template = core->vocabulary->has_chat_template();
  if (options.hash_file) {
    auto hash = llm::hash_file(path);
    if (!hash) return hash.error();
    info.file_hash = std::move(*hash);
  }
  std::string adapter_hash;
  if (!options.adapter_file.empty()) {
    auto adapter = llm::load_adapter(core->model.get(), options);
    if (!adapter) return adapter.error();
    core->adapter = adapter->adapter;
    adapter_hash = adapter->hash;
    info.name += "+" + options.adapter_file.substr(options.adapter_file.find_last_of('/') + 1) + "@" +
                 adapter_hash.substr(0, 12);
    if (!info.file_hash.empty()) info.file_hash = to_hex(blake2b(info.file_hash + "|" + adapter_hash));
  }
  core->state_key =
      blake2b(info.file_hash + "|" + (adapter_hash.empty() ? "" : adapter_hash + "|") +
              path.substr(path.find_last_of('/') + 1) + "|" + std::to_string(llama_model_size(core->model.get())) +
              "|" + std::to_string(llama_model_n_params(core->model.get())));
  const llm::LogScope log(core->options.log);
  auto session = core->make_session(1, core->context_tokens, &core->tap);
  if (!session) return session.error().in(path);
  core->main = std::move(*session);
  core->streams.emplace(
      [raw = core.get()](int count, int tokens_each) { return raw->make_session(count, tokens_each); },
      core->context_tokens, static_cast<std::size_t>(options.max_cells),
      core->adapter != nullptr ? 1 : file->rows_of_equal_bits);
  return std::unique_ptr<LanguageModel>(std::make_unique<llm::LlamaLanguageModel>(std::move(core)));
}

}  // namespace casemate
