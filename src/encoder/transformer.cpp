#include "encoder/transformer.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <optional>

#include "encoder/kernels.h"
#include "encoder/weights.h"

namespace casemate {
namespace {

/// Tokens that go through the linear layers together. Large enough for full matmul speed (16 rows already are), small
/// enough that a layer's working set stays in a core's second-level cache.
constexpr std::size_t kMicroBatchTokens = 512;

/// Rows that go through the feed-forward layers together; a multiple of Linear::kRowBlock.
constexpr std::size_t kBlockRows = 128;

/// A 64-byte aligned float buffer that only grows.
class FloatBuffer {
 public:
  float* reserve(std::size_t floats) {
    if (floats + 16 > storage_.size()) storage_.assign(floats + 16, 0.0F);
    const auto address = reinterpret_cast<std::uintptr_t>(storage_.data());
    return storage_.data() + (64 - address % 64) % 64 / sizeof(float);
  }

 private:
  std::vector<float> storage_;
};

struct Workspace {
  Scratch scratch;
  FloatBuffer states, qkv, context, inner, attention;
};

struct MicroBatch {
  std::size_t first = 0;
  std::size_t end = 0;
  std::size_t tokens = 0;
};

std::vector<MicroBatch> make_micro_batches(std::span<const TransformerInput> inputs) {
  std::vector<MicroBatch> batches;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::size_t length = inputs[i].ids.size();
    if (batches.empty() || batches.back().tokens + length > kMicroBatchTokens) batches.push_back({i, i, 0});
    batches.back().end = i + 1;
    batches.back().tokens += length;
  }
  return batches;
}

}  // namespace

struct Transformer::State {
  ModelConfig config;
  TransformerWeights weights;

  [[nodiscard]] std::optional<Error> check(std::size_t index, const TransformerInput& input) const {
    const auto bad = [index](const std::string& what) {
      return Error{ErrorCode::kInvalidArgument, "input " + std::to_string(index) + ": " + what};
    };
    if (input.ids.empty()) return bad("no tokens");
    if (input.ids.size() > static_cast<std::size_t>(config.max_positions)) {
      return bad(std::to_string(input.ids.size()) + " tokens, the model takes " + std::to_string(config.max_positions));
    }
    if (!input.token_types.empty() && input.token_types.size() != input.ids.size())
      return bad("token types and ids differ in number");
    for (const TokenId id : input.ids) {
      if (id < 0 || id >= config.vocabulary)
        return bad("token id " + std::to_string(id) + " is outside the vocabulary");
    }
    for (const TokenId type : input.token_types) {
      if (type < 0 || type >= std::max(config.token_types, 1))
        return bad("token type " + std::to_string(type) + " is not known");
    }
    return std::nullopt;
  }

  void normalize(float* rows, std::size_t count, const LayerNormWeights& norm) const {
    kernels::layer_norm(rows, count, static_cast<std::size_t>(config.hidden), norm.gamma.data(), norm.beta.data(),
                        config.layer_norm_epsilon);
  }

  void embed(const TransformerInput& input, float* states) const {
    const auto hidden = static_cast<std::size_t>(config.hidden);
    for (std::size_t t = 0; t < input.ids.size(); ++t) {
      const float* word = weights.word_embeddings.data() + static_cast<std::size_t>(input.ids[t]) * hidden;
      const float* position =
          weights.position_embeddings.data() + (t + static_cast<std::size_t>(config.position_offset)) * hidden;
      const std::size_t type = input.token_types.empty() ? 0 : static_cast<std::size_t>(input.token_types[t]);
      const float* type_row =
          weights.type_embeddings.empty() ? nullptr : weights.type_embeddings.data() + type * hidden;
      kernels::add_rows(word, position, type_row, states + t * hidden, hidden);
    }
    normalize(states, input.ids.size(), weights.embedding_norm);
  }

  Status run_layer(const LayerWeights& layer, std::span<const TransformerInput> inputs, std::size_t tokens,
                   Workspace& work) const {
    const auto hidden = static_cast<std::size_t>(config.hidden);
    const auto heads = static_cast<std::size_t>(config.heads);
    const std::size_t rows = Linear::padded_rows(tokens);
    float* states = work.states.reserve(rows * hidden);
    float* qkv = work.qkv.reserve(rows * 3 * hidden);
    float* context = work.context.reserve(rows * hidden);
    float* inner = work.inner.reserve(kBlockRows * static_cast<std::size_t>(config.intermediate));
    if (Status ran = layer.qkv.run(states, qkv, tokens, work.scratch); !ran) return ran;
    std::size_t at = 0;
    for (const TransformerInput& input : inputs) {
      float* scratch = work.attention.reserve(kernels::attention_scratch_floats(input.ids.size(), hidden / heads));
      kernels::attend(qkv + at * 3 * hidden, input.ids.size(), heads, hidden / heads, scratch, context + at * hidden);
      at += input.ids.size();
    }
    // From here on rows are independent, so they go through in blocks whose inner states fit the second-level cache.
    for (std::size_t first = 0; first < tokens; first += kBlockRows) {
      const std::size_t count = std::min(kBlockRows, tokens - first);
      float* block = states + first * hidden;
      if (Status ran = layer.attention_out.run(context + first * hidden, block, count, work.scratch); !ran) return ran;
      normalize(block, count, layer.attention_norm);
      if (Status ran = layer.feed_forward.run(block, inner, count, work.scratch); !ran) return ran;
      if (Status ran = layer.feed_forward_out.run(inner, block, count, work.scratch); !ran) return ran;
      normalize(block, count, layer.output_norm);
    }
    return {};
  }

  Status run_batch(std::span<const TransformerInput> inputs, std::size_t first, std::size_t tokens, Workspace& work,
                   const StatesSink& sink) const {
    const auto hidden = static_cast<std::size_t>(config.hidden);
    const std::size_t rows = Linear::padded_rows(tokens);
    float* states = work.states.reserve(rows * hidden);
    std::size_t at = 0;
    for (const TransformerInput& input : inputs) {
      embed(input, states + at * hidden);
      at += input.ids.size();
    }
    // Padding rows are computed too; zeros keep them free of slow subnormals and NaN.
    std::memset(states + tokens * hidden, 0, (rows - tokens) * hidden * sizeof(float));
    std::memset(work.context.reserve(rows * hidden) + tokens * hidden, 0, (rows - tokens) * hidden * sizeof(float));
    for (const LayerWeights& layer : weights.layers) {
      if (Status ran = run_layer(layer, inputs, tokens, work); !ran) return ran;
    }
    at = 0;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      sink(first + i, std::span<const float>(states + at * hidden, inputs[i].ids.size() * hidden));
      at += inputs[i].ids.size();
    }
    return {};
  }
};

Transformer::Transformer(std::unique_ptr<State> state) : state_(std::move(state)) {}
Transformer::~Transformer() = default;

Result<std::unique_ptr<Transformer>> Transformer::create(const ModelConfig& config, const SafetensorsFile& file) {
  auto weights = load_transformer_weights(config, file);
  if (!weights) return weights.error();
  auto state = std::make_unique<State>();
  state->config = config;
  state->weights = *std::move(weights);
  return std::unique_ptr<Transformer>(new Transformer(std::move(state)));
}

const ModelConfig& Transformer::config() const noexcept { return state_->config; }

Status Transformer::run(std::span<const TransformerInput> inputs, const ThreadPool& pool,
                        const StatesSink& sink) const {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (auto error = state_->check(i, inputs[i])) return *error;
  }
  const std::vector<MicroBatch> batches = make_micro_batches(inputs);
  std::vector<std::unique_ptr<Workspace>> workspaces(static_cast<std::size_t>(pool.threads()));
  std::mutex mutex;
  std::optional<Error> failure;
  pool.parallel_for(batches.size(), [&](std::size_t index, int worker) {
    const OneThread one_thread;
    auto& work = workspaces[static_cast<std::size_t>(worker)];
    if (work == nullptr) work = std::make_unique<Workspace>();
    const MicroBatch& batch = batches[index];
    const Status ran =
        state_->run_batch(inputs.subspan(batch.first, batch.end - batch.first), batch.first, batch.tokens, *work, sink);
    if (ran) return;
    const std::lock_guard lock(mutex);
    if (!failure) failure = ran.error();
  });
  if (failure) return *failure;
  return {};
}

}  // namespace casemate
