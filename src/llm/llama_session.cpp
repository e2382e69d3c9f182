#include "llm/llama_session.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <mutex>

namespace casemate::llm {
namespace {

thread_local LogScope* innermost_scope = nullptr;

void log_callback(ggml_log_level level, const char* text, void*) {
  if (innermost_scope != nullptr && text != nullptr) innermost_scope->line(level, text);
}

void route_log_once() {
  static std::once_flag once;
  std::call_once(once, [] {
    llama_log_set(&log_callback, nullptr);
    llama_backend_init();
  });
}

constexpr std::size_t kWord = sizeof(std::uint32_t);
constexpr std::size_t kFrame = 3 * kWord;  // magic, sequence id, number of streams

std::uint32_t read_word(std::string_view bytes) {
  std::uint32_t word = 0;
  std::memcpy(&word, bytes.data(), kWord);
  return word;
}

void append_word(std::string& bytes, std::uint32_t word) { bytes.append(reinterpret_cast<const char*>(&word), kWord); }

bool should_abort(void* data) { return static_cast<const std::stop_token*>(data)->stop_requested(); }

}  // namespace

LogScope::LogScope(const std::function<void(std::string_view)>& sink) : sink_(sink), outer_(innermost_scope) {
  route_log_once();
  innermost_scope = this;
}

LogScope::~LogScope() { innermost_scope = outer_; }

void LogScope::line(ggml_log_level level, const char* text) {
  std::string_view line(text);
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.remove_suffix(1);
  if (line.empty()) return;
  // "failed to load model" follows the line that says why, so the first error is the one to keep.
  if (level == GGML_LOG_LEVEL_ERROR && last_error_.empty()) last_error_ = line;
  if (sink_) sink_(line);
}

Result<std::unique_ptr<LlamaSession>> LlamaSession::create(llama_model* model, ggml_threadpool* pool,
                                                           const SessionOptions& options) {
  SessionOptions used = options;
  used.tokens_per_stream = (options.tokens_per_stream + 255) / 256 * 256;
  llama_context_params params = llama_context_default_params();
  params.n_ctx = static_cast<std::uint32_t>(used.tokens_per_stream * used.streams);
  params.n_batch =
      static_cast<std::uint32_t>(std::max(used.chunk_tokens + static_cast<int>(kSmallestPiece), used.streams));
  params.n_ubatch = params.n_batch;
  params.n_seq_max = static_cast<std::uint32_t>(used.streams);
  params.n_outputs_max = static_cast<std::uint32_t>(std::max(used.max_logit_rows, used.streams));
  params.n_threads = used.threads;
  params.n_threads_batch = used.threads;
  // Plain attention and one set of cells a stream: a sequence's numbers then do not depend on its neighbours, and the
  // softmax is computed in float32. Flash attention switches kernels by batch size and length.
  params.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_DISABLED;
  params.kv_unified = false;
  params.no_perf = true;
  params.cb_eval = used.eval_callback;
  params.cb_eval_user_data = used.eval_data;
  try {
    LlamaContextHandle context(llama_init_from_model(model, params));
    if (context == nullptr) {
      return Error{ErrorCode::kModel, "no context of " + std::to_string(used.streams) + " sequences of " +
                                          std::to_string(used.tokens_per_stream) +
                                          " tokens could be made (not enough memory?)"};
    }
    if (used.adapter != nullptr && llama_set_adapters_lora(context.get(), &used.adapter, 1, &used.adapter_scale) != 0)
      return Error{ErrorCode::kModel, "the adapter could not be applied"};
    llama_attach_threadpool(context.get(), pool, pool);
    const auto vocabulary = static_cast<std::size_t>(llama_vocab_n_tokens(llama_model_get_vocab(model)));
    return std::unique_ptr<LlamaSession>(new LlamaSession(std::move(context), used, vocabulary));
  } catch (const std::exception& failure) {
    return Error{ErrorCode::kModel, std::string("no context could be made: ") + failure.what()};
  }
}

Status LlamaSession::decode(std::span<const Row> rows, const std::stop_token& stop) {
  if (rows.empty()) return {};
  // llama.cpp copies streams at the beginning of the next call: one that is put off would overwrite whoever has the
  // stream by then.
  if (!copies_ && stop.stop_requested()) return Error{ErrorCode::kCancelled, "the caller asked to stop"};
  copies_ = false;
  std::vector<llama_token> tokens;
  std::vector<llama_pos> positions;
  std::vector<llama_seq_id> streams;
  std::vector<std::int8_t> wants;
  for (const Row& row : rows) {
    tokens.push_back(row.token);
    positions.push_back(row.position);
    streams.push_back(row.stream);
    wants.push_back(row.wants_logits ? 1 : 0);
  }
  std::vector<std::int32_t> counts(rows.size(), 1);
  std::vector<llama_seq_id*> stream_pointers;
  for (llama_seq_id& stream : streams) stream_pointers.push_back(&stream);
  llama_batch batch{};
  batch.n_tokens = static_cast<std::int32_t>(rows.size());
  batch.token = tokens.data();
  batch.pos = positions.data();
  batch.n_seq_id = counts.data();
  batch.seq_id = stream_pointers.data();
  batch.logits = wants.data();
  int code = 0;
  try {
    std::stop_token token = stop;
    llama_set_abort_callback(context_.get(), &should_abort, &token);
    code = llama_decode(context_.get(), batch);
    llama_set_abort_callback(context_.get(), nullptr, nullptr);
  } catch (const std::exception& failure) {
    llama_set_abort_callback(context_.get(), nullptr, nullptr);
    return Error{ErrorCode::kModel, std::string("decoding failed: ") + failure.what()};
  }
  if (code == 2 || (code != 0 && stop.stop_requested())) {
    return Error{ErrorCode::kCancelled, "the caller asked to stop"};
  }
  if (code == 1) return Error{ErrorCode::kLimit, "no free cells are left in the model's context"};
  if (code != 0) return Error{ErrorCode::kModel, "decoding failed with code " + std::to_string(code)};
  last_rows_ = rows.size();
  return {};
}

Status LlamaSession::prefill(int stream, std::span<const TokenId> tokens, std::size_t from,
                             const std::stop_token& stop) {
  std::vector<Row> rows;
  for (std::size_t at = from; at < tokens.size();) {
    const std::size_t end = next_piece_end(at, tokens.size(), static_cast<std::size_t>(options_.chunk_tokens));
    rows.clear();
    for (std::size_t i = at; i < end; ++i) {
      rows.push_back({tokens[i], static_cast<std::int32_t>(i), stream, i + 1 == tokens.size()});
    }
    if (auto status = decode(rows, stop); !status) return status;
    at = end;
  }
  return {};
}

Result<std::span<const float>> LlamaSession::logits(std::size_t row) const {
  const float* values = llama_get_logits_ith(context_.get(), static_cast<std::int32_t>(row));
  if (values == nullptr) return Error{ErrorCode::kModel, "the model gave no output"};
  return std::span<const float>(values, vocabulary_);
}

void LlamaSession::truncate(int stream, std::size_t from) {
  llama_memory_seq_rm(llama_get_memory(context_.get()), stream, static_cast<llama_pos>(from), -1);
}

void LlamaSession::copy(int from, int to) {
  truncate(to, 0);
  llama_memory_seq_cp(llama_get_memory(context_.get()), from, to, -1, -1);
  copies_ = true;
}

// llama.cpp writes one sequence as magic, sequence id, number of streams, and for each stream the number of its cells
// and those cells (a zero for the other streams). It only reads that back into a context with as many streams, so a
// saved state keeps the magic and the one stream's cells, and `load` puts the frame around them that its own context
// expects.
Result<std::string> LlamaSession::save(int stream) const {
  const Error failed{ErrorCode::kModel, "the sequence's state could not be read"};
  try {
    std::string bytes(llama_state_seq_get_size(context_.get(), stream), '\0');
    const std::size_t written =
        llama_state_seq_get_data(context_.get(), reinterpret_cast<std::uint8_t*>(bytes.data()), bytes.size(), stream);
    const std::size_t before = kWord * static_cast<std::size_t>(stream);
    const std::size_t after = kWord * static_cast<std::size_t>(options_.streams - 1 - stream);
    if (written < kFrame + before + after + kWord) return failed;
    bytes.resize(written);
    const std::string_view all(bytes);
    const std::string_view front = all.substr(kFrame, before);
    const std::string_view back = all.substr(written - after);
    const bool expected = read_word(all.substr(2 * kWord)) == static_cast<std::uint32_t>(options_.streams) &&
                          front.find_first_not_of('\0') == std::string_view::npos &&
                          back.find_first_not_of('\0') == std::string_view::npos;
    if (!expected) return failed;
    return std::string(all.substr(0, kWord)) +
           std::string(all.substr(kFrame + before, written - kFrame - before - after));
  } catch (const std::exception&) {
    return failed;
  }
}

Status LlamaSession::load(int stream, std::string_view bytes) {
  truncate(stream, 0);
  if (bytes.size() > 2 * kWord) {
    std::string framed(bytes.substr(0, kWord));
    append_word(framed, static_cast<std::uint32_t>(stream));
    append_word(framed, static_cast<std::uint32_t>(options_.streams));
    framed += bytes.substr(kWord);
    framed.append(kWord * static_cast<std::size_t>(options_.streams - 1), '\0');
    try {
      const std::size_t read = llama_state_seq_set_data(
          context_.get(), reinterpret_cast<const std::uint8_t*>(framed.data()), framed.size(), stream);
      if (read > 0) return {};
    } catch (const std::exception&) {
      truncate(stream, 0);
    }
  }
  return Error{ErrorCode::kCorrupt, "the sequence state does not fit this model or this context"};
}

std::size_t next_piece_end(std::size_t at, std::size_t size, std::size_t chunk) noexcept {
  const std::size_t end = std::min(at + chunk, size);
  return size - end < kSmallestPiece ? size : end;
}

std::size_t reusable_tokens(std::size_t common, std::size_t size) noexcept {
  return size < kSmallestPiece ? 0 : std::min(common, size - kSmallestPiece);
}

std::size_t common_prefix(std::span<const TokenId> a, std::span<const TokenId> b) noexcept {
  const std::size_t most = std::min(a.size(), b.size());
  std::size_t length = 0;
  while (length < most && a[length] == b[length]) ++length;
  return length;
}

}  // namespace casemate::llm
