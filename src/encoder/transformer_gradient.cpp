#include "encoder/transformer_gradient.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "encoder/kernels.h"
#include "encoder/transformer_parts.h"

namespace casemate {
namespace {

/// Fewer than in the forward pass, since a layer's activations are all kept.
constexpr std::size_t kGradientBatchTokens = 256;

/// What the backward pass needs of one layer's forward pass.
struct Saved {
  FloatBuffer qkv;            // [rows, 3 * hidden]
  FloatBuffer attention_sum;  // [rows, hidden], before its layer norm
  FloatBuffer inner;          // [rows, intermediate], before the activation
  FloatBuffer output_sum;     // [rows, hidden], before its layer norm
};

/// Sizes of one batch's buffers.
struct Sizes {
  std::size_t rows, hidden, inner, heads;
};

Sizes sizes_of(const ModelConfig& config, std::size_t tokens) {
  return {Linear::padded_rows(tokens), static_cast<std::size_t>(config.hidden),
          static_cast<std::size_t>(config.intermediate), static_cast<std::size_t>(config.heads)};
}

}  // namespace

struct TransformerGradient::Workspace {
  Scratch scratch;
  FloatBuffer states, context, inner, attention, gradient, qkv_gradient, sums, presence;
  std::vector<Saved> saved;
};

Result<std::unique_ptr<TransformerGradient>> TransformerGradient::create(const ModelConfig& config,
                                                                         const TransformerWeights& weights) {
  auto activation =
      ActivationLayer::create(epilogue_of(config.activation), static_cast<std::size_t>(config.intermediate));
  if (!activation) return activation.error();
  std::unique_ptr<TransformerGradient> made(new TransformerGradient(config, weights, *std::move(activation)));
  for (const LayerWeights& layer : weights.layers) {
    auto qkv = layer.qkv.transposed(Epilogue::kAddToOutput);
    if (!qkv) return qkv.error();
    auto attention_out = layer.attention_out.transposed(Epilogue::kNone);
    if (!attention_out) return attention_out.error();
    auto feed_forward = layer.feed_forward.transposed(Epilogue::kAddToOutput);
    if (!feed_forward) return feed_forward.error();
    auto feed_forward_out = layer.feed_forward_out.transposed(Epilogue::kNone);
    if (!feed_forward_out) return feed_forward_out.error();
    made->layers_.push_back(Layer{layer.feed_forward.without_activation(), *std::move(qkv), *std::move(attention_out),
                                  *std::move(feed_forward), *std::move(feed_forward_out)});
  }
  return made;
}

Status TransformerGradient::forward_layer(std::size_t index, std::span<const TransformerInput> inputs,
                                          std::size_t tokens, Workspace& work) const {
  const LayerWeights& layer = weights_.layers[index];
  Saved& saved = work.saved[index];
  const auto [rows, hidden, intermediate, heads] = sizes_of(config_, tokens);
  float* states = work.states.reserve(rows * hidden);
  float* context = work.context.reserve(rows * hidden);
  float* active = work.inner.reserve(kBlockRows * intermediate);
  float* qkv = saved.qkv.reserve(rows * 3 * hidden);
  float* inner = saved.inner.reserve(rows * intermediate);
  float* attention_sum = saved.attention_sum.reserve(rows * hidden);
  float* output_sum = saved.output_sum.reserve(rows * hidden);
  if (Status ran = layer.qkv.run(states, qkv, tokens, work.scratch); !ran) return ran;
  std::size_t at = 0;
  for (const TransformerInput& input : inputs) {
    float* scratch = work.attention.reserve(kernels::attention_scratch_floats(input.ids.size(), hidden / heads));
    kernels::attend(qkv + at * 3 * hidden, input.ids.size(), heads, hidden / heads, scratch, context + at * hidden);
    at += input.ids.size();
  }
  const auto keep_and_normalize = [&](float* block, float* kept, std::size_t count, const LayerNormWeights& norm) {
    std::memcpy(kept, block, count * hidden * sizeof(float));
    kernels::layer_norm(block, count, hidden, norm.gamma.data(), norm.beta.data(), config_.layer_norm_epsilon);
  };
  for (std::size_t first = 0; first < tokens; first += kBlockRows) {
    const std::size_t count = std::min(kBlockRows, tokens - first);
    float* block = states + first * hidden;
    float* block_inner = inner + first * intermediate;
    if (Status ran = layer.attention_out.run(context + first * hidden, block, count, work.scratch); !ran) return ran;
    keep_and_normalize(block, attention_sum + first * hidden, count, layer.attention_norm);
    if (Status ran = layers_[index].feed_forward.run(block, block_inner, count, work.scratch); !ran) return ran;
    if (Status ran = activation_.run(block_inner, active, count, work.scratch); !ran) return ran;
    if (Status ran = layer.feed_forward_out.run(active, block, count, work.scratch); !ran) return ran;
    keep_and_normalize(block, output_sum + first * hidden, count, layer.output_norm);
  }
  return {};
}

Status TransformerGradient::backward_layer(std::size_t index, std::span<const TransformerInput> inputs,
                                           std::size_t tokens, Workspace& work) const {
  const LayerWeights& layer = weights_.layers[index];
  const Layer& back = layers_[index];
  Saved& saved = work.saved[index];
  const auto [rows, hidden, intermediate, heads] = sizes_of(config_, tokens);
  float* gradient = work.gradient.reserve(rows * hidden);
  float* context_gradient = work.context.reserve(rows * hidden);
  float* inner_gradient = work.inner.reserve(kBlockRows * intermediate);
  float* qkv_gradient = work.qkv_gradient.reserve(rows * 3 * hidden);
  float* presence = work.presence.reserve(tokens);
  const float* qkv = saved.qkv.reserve(rows * 3 * hidden);
  const float* inner = saved.inner.reserve(rows * intermediate);
  const float* attention_sum = saved.attention_sum.reserve(rows * hidden);
  const float* output_sum = saved.output_sum.reserve(rows * hidden);
  const auto through_norm = [&](const float* sum, float* block, std::size_t count, const LayerNormWeights& norm) {
    kernels::layer_norm_backward(sum, count, hidden, norm.gamma.data(), config_.layer_norm_epsilon, block);
  };
  for (std::size_t first = 0; first < tokens; first += kBlockRows) {
    const std::size_t count = std::min(kBlockRows, tokens - first);
    float* block = gradient + first * hidden;
    through_norm(output_sum + first * hidden, block, count, layer.output_norm);
    if (Status ran = back.feed_forward_out_back.run(block, inner_gradient, count, work.scratch); !ran) return ran;
    if (Status ran = activation_.run_backward(inner + first * intermediate, inner_gradient, count, work.scratch); !ran)
      return ran;
    if (Status ran = back.feed_forward_back.run(inner_gradient, block, count, work.scratch); !ran) return ran;
    through_norm(attention_sum + first * hidden, block, count, layer.attention_norm);
    if (Status ran = back.attention_out_back.run(block, context_gradient + first * hidden, count, work.scratch); !ran)
      return ran;
  }
  std::size_t at = 0;
  for (const TransformerInput& input : inputs) {
    const std::size_t length = input.ids.size();
    float* scratch = work.attention.reserve(kernels::attention_backward_scratch_floats(length, hidden / heads));
    kernels::attend_backward(qkv + at * 3 * hidden, context_gradient + at * hidden, length, heads, hidden / heads,
                             scratch, qkv_gradient + at * 3 * hidden, presence + at);
    at += length;
  }
  return back.qkv_back.run(qkv_gradient, gradient, tokens, work.scratch);
}

Status TransformerGradient::forward(std::span<const TransformerInput> inputs, std::size_t tokens,
                                    Workspace& work) const {
  const auto [rows, hidden, intermediate, heads] = sizes_of(config_, tokens);
  float* states = work.states.reserve(rows * hidden);
  float* sums = work.sums.reserve(tokens * hidden);
  std::size_t at = 0;
  for (const TransformerInput& input : inputs) {
    sum_embeddings(config_, weights_, input, sums + at * hidden);
    at += input.ids.size();
  }
  std::memcpy(states, sums, tokens * hidden * sizeof(float));
  kernels::layer_norm(states, tokens, hidden, weights_.embedding_norm.gamma.data(), weights_.embedding_norm.beta.data(),
                      config_.layer_norm_epsilon);
  // Padding rows are computed too; zeros keep them free of slow subnormals and NaN.
  for (FloatBuffer* buffer : {&work.states, &work.context, &work.gradient}) {
    std::memset(buffer->reserve(rows * hidden) + tokens * hidden, 0, (rows - tokens) * hidden * sizeof(float));
  }
  std::memset(work.qkv_gradient.reserve(rows * 3 * hidden) + tokens * 3 * hidden, 0,
              (rows - tokens) * 3 * hidden * sizeof(float));
  work.saved.resize(layers_.size());
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    if (Status ran = forward_layer(i, inputs, tokens, work); !ran) return ran;
  }
  return {};
}

Status TransformerGradient::run_batch(std::span<const TransformerInput> inputs, std::size_t first, std::size_t tokens,
                                      Workspace& work, const Transformer::StatesGradient& states_gradient,
                                      const Transformer::GradientSink& sink) const {
  if (Status ran = forward(inputs, tokens, work); !ran) return ran;
  const auto [rows, hidden, intermediate, heads] = sizes_of(config_, tokens);
  const float* states = work.states.reserve(rows * hidden);
  float* gradient = work.gradient.reserve(rows * hidden);
  float* presence = work.presence.reserve(tokens);
  std::fill_n(gradient, rows * hidden, 0.0F);
  std::fill_n(presence, tokens, 0.0F);
  std::size_t at = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::size_t length = inputs[i].ids.size();
    Status asked = states_gradient(first + i, {states + at * hidden, length * hidden},
                                   {gradient + at * hidden, length * hidden}, {presence + at, length});
    if (!asked) return asked;
    at += length;
  }
  for (std::size_t i = layers_.size(); i-- > 0;) {
    if (Status ran = backward_layer(i, inputs, tokens, work); !ran) return ran;
  }
  kernels::layer_norm_backward(work.sums.reserve(tokens * hidden), tokens, hidden, weights_.embedding_norm.gamma.data(),
                               config_.layer_norm_epsilon, gradient);
  at = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::size_t length = inputs[i].ids.size();
    sink(first + i, {gradient + at * hidden, length * hidden}, {presence + at, length});
    at += length;
  }
  return {};
}

Status TransformerGradient::run(std::span<const TransformerInput> inputs, const ThreadPool& pool,
                                const Transformer::StatesGradient& states_gradient,
                                const Transformer::GradientSink& sink) const {
  std::vector<std::unique_ptr<Workspace>> workspaces(static_cast<std::size_t>(pool.threads()));
  const auto run_one = [&](const MicroBatch& batch, std::size_t worker) {
    auto& work = workspaces[worker];
    if (work == nullptr) work = std::make_unique<Workspace>();
    return run_batch(inputs.subspan(batch.first, batch.end - batch.first), batch.first, batch.tokens, *work,
                     states_gradient, sink);
  };
  return for_each_batch(make_micro_batches(inputs, kGradientBatchTokens), pool, run_one);
}

}  // namespace casemate
