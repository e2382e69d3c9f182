#include "encoder/transformer.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <optional>

#include "encoder/kernels.h"
#include "encoder/transformer_gradient.h"
#include "encoder/transformer_parts.h"

namespace casemate {
namespace {

/// Tokens that go through the linear layers together. Large enough for full matmul speed (16 rows already are), small
/// enough that a layer's working set stays in a core's second-level cache.
constexpr std::size_t kMicroBatchTokens = 512;

struct Workspace {
  Scratch scratch;
  FloatBuffer states, qkv, context, inner, attention;
};

}  // namespace

struct Transformer::State {
  ModelConfig config;
  TransformerWeights weights;
  // Made when first asked for: it holds a second copy of the layers' weights, which encoding alone does not need.
  std::once_flag gradient_once;
  std::optional<Result<std::unique_ptr<TransformerGradient>>> gradient;

  void normalize(float* rows, std::size_t count, const LayerNormWeights& norm) const {
    kernels::layer_norm(rows, count, static_cast<std::size_t>(config.hidden), norm.gamma.data(), norm.beta.data(),
                        config.layer_norm_epsilon);
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
      sum_embeddings(config, weights, input, states + at * hidden);
      at += input.ids.size();
    }
    normalize(states, tokens, weights.embedding_norm);
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

Result<std::unique_ptr<Transformer>> Transformer::create(const ModelConfig& config, const SafetensorsFile& file,
                                                         Precision precision) {
  auto weights = load_transformer_weights(config, file, precision);
  if (!weights) return weights.error();
  auto state = std::make_unique<State>();
  state->config = config;
  state->weights = *std::move(weights);
  return std::unique_ptr<Transformer>(new Transformer(std::move(state)));
}

const ModelConfig& Transformer::config() const noexcept { return state_->config; }
std::span<const float> Transformer::word_embeddings() const noexcept { return state_->weights.word_embeddings; }

Status Transformer::run(std::span<const TransformerInput> inputs, const ThreadPool& pool,
                        const StatesSink& sink) const {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (auto error = check_input(state_->config, i, inputs[i])) return *error;
  }
  std::vector<std::unique_ptr<Workspace>> workspaces(static_cast<std::size_t>(pool.threads()));
  const auto run_one = [&](const MicroBatch& batch, std::size_t worker) {
    auto& work = workspaces[worker];
    if (work == nullptr) work = std::make_unique<Workspace>();
    return state_->run_batch(inputs.subspan(batch.first, batch.end - batch.first), batch.first, batch.tokens, *work,
                             sink);
  };
  return for_each_batch(make_micro_batches(inputs, kMicroBatchTokens), pool, run_one);
}

Status Transformer::run_gradient(std::span<const TransformerInput> inputs, const ThreadPool& pool,
                                 const StatesGradient& states_gradient, const GradientSink& sink) const {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (auto error = check_input(state_->config, i, inputs[i])) return *error;
  }
  auto& made = state_->gradient;
  std::call_once(state_->gradient_once,
                 [&] { made.emplace(TransformerGradient::create(state_->config, state_->weights)); });
  if (!*made) return made->error();
  return (**made)->run(inputs, pool, states_gradient, sink);
}

}  // namespace casemate
