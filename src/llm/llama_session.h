// RAII over llama.cpp's context: streams of cells, decoding, copying, saving. One thread at a time.
#pragma once

#include <llama.h>

#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "casemate/core/status.h"
#include "casemate/text/tokenizer.h"

namespace casemate::llm {

struct LlamaFree {
  void operator()(llama_model* model) const noexcept { llama_model_free(model); }
  void operator()(llama_context* context) const noexcept { llama_free(context); }
  void operator()(llama_sampler* sampler) const noexcept { llama_sampler_free(sampler); }
  void operator()(ggml_threadpool* pool) const noexcept { ggml_threadpool_free(pool); }
};
using LlamaModelHandle = std::unique_ptr<llama_model, LlamaFree>;
using LlamaContextHandle = std::unique_ptr<llama_context, LlamaFree>;
using LlamaSamplerHandle = std::unique_ptr<llama_sampler, LlamaFree>;
using ThreadPoolHandle = std::unique_ptr<ggml_threadpool, LlamaFree>;

/// Routes llama.cpp's log (one for the process) to the innermost scope of the calling thread; without one it is
/// dropped.
class LogScope {
 public:
  explicit LogScope(const std::function<void(std::string_view)>& sink);
  ~LogScope();
  LogScope(const LogScope&) = delete;
  LogScope& operator=(const LogScope&) = delete;
  /// The last error line of this scope, without its end of line; empty where there was none.
  [[nodiscard]] const std::string& last_error() const noexcept { return last_error_; }
  void line(ggml_log_level level, const char* text);

 private:
  const std::function<void(std::string_view)>& sink_;
  LogScope* outer_;
  std::string last_error_;
};

/// One input row.
struct Row {
  TokenId token = 0;
  std::int32_t position = 0;
  std::int32_t stream = 0;
  bool wants_logits = false;
};

struct SessionOptions {
  int streams = 1;              ///< independent sequences
  int tokens_per_stream = 256;  ///< rounded up to 256
  int chunk_tokens = 256;
  int max_logit_rows = 32;  ///< most rows of one decode that want logits
  int threads = 1;
  ggml_backend_sched_eval_callback eval_callback = nullptr;
  void* eval_data = nullptr;
  llama_adapter_lora* adapter = nullptr;  ///< of the model; null: none
  float adapter_scale = 1.0F;
};

class LlamaSession {
 public:
  /// Model and pool must outlive the session. Error: Model (not enough memory).
  static Result<std::unique_ptr<LlamaSession>> create(llama_model* model, ggml_threadpool* pool,
                                                      const SessionOptions& options);

  /// Computes `rows` in one step. Error: Cancelled, Limit (no free cells), Model.
  Status decode(std::span<const Row> rows, const std::stop_token& stop);
  /// Computes tokens[from..] of one stream in pieces of chunk_tokens; logits for the last one only.
  Status prefill(int stream, std::span<const TokenId> tokens, std::size_t from, const std::stop_token& stop);
  /// Logits of row i of the last decode; valid until the next one. Error: Model.
  Result<std::span<const float>> logits(std::size_t row) const;

  /// Logits of the last row of the last decode.
  Result<std::span<const float>> last_logits() const { return logits(last_rows_ - 1); }

  /// Forgets positions >= `from` of a stream.
  void truncate(int stream, std::size_t from);
  /// Makes `to` a copy of `from`, whole, at the beginning of the next `decode`, which then runs in any case.
  void copy(int from, int to);
  Result<std::string> save(int stream) const;
  /// Error: Corrupt.
  Status load(int stream, std::string_view bytes);

  [[nodiscard]] const SessionOptions& options() const noexcept { return options_; }

 private:
  LlamaSession(LlamaContextHandle context, const SessionOptions& options, std::size_t vocabulary)
      : context_(std::move(context)), options_(options), vocabulary_(vocabulary) {}
  LlamaContextHandle context_;
  SessionOptions options_;
  std::size_t vocabulary_;
  std::size_t last_rows_ = 0;
  bool copies_ = false;  ///< some are to be made
};

/// Matrix kernels change with the number of rows, and with them the last digits; from this many rows on they gave the
/// same bits for all models and sizes tried (SmolLM2: from 2, Qwen2.5: from 8). So no piece of a prompt is shorter,
/// unless the whole prompt is.
inline constexpr std::size_t kSmallestPiece = 8;

/// Where the next piece of a prompt ends.
[[nodiscard]] std::size_t next_piece_end(std::size_t at, std::size_t size, std::size_t chunk) noexcept;
/// How many of `common` leading tokens of a prompt of `size` may come from a cache, leaving a whole piece.
[[nodiscard]] std::size_t reusable_tokens(std::size_t common, std::size_t size) noexcept;
[[nodiscard]] std::size_t common_prefix(std::span<const TokenId> a, std::span<const TokenId> b) noexcept;

}  // namespace casemate::llm
