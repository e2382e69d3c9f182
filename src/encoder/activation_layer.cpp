#include "encoder/activation_layer.h"

#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <string>
#include <utility>

namespace casemate {
namespace {

using dnnl::memory;

std::optional<dnnl::algorithm> algorithm_of(Epilogue activation) {
  switch (activation) {
    case Epilogue::kGeluErf:
      return dnnl::algorithm::eltwise_gelu_erf;
    case Epilogue::kGeluTanh:
      return dnnl::algorithm::eltwise_gelu_tanh;
    case Epilogue::kRelu:
      return dnnl::algorithm::eltwise_relu;
    case Epilogue::kNone:
    case Epilogue::kAddToOutput:
      break;
  }
  return std::nullopt;
}

dnnl::primitive_attr user_scratchpad() {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attr;
}

dnnl::eltwise_forward::primitive_desc describe_forward(const dnnl::engine& engine, dnnl::algorithm kind,
                                                       const memory::desc& data) {
#if DNNL_VERSION_MAJOR >= 3
  return {engine, dnnl::prop_kind::forward_training, kind, data, data, 0.0F, 0.0F, user_scratchpad()};
#else
  return {{dnnl::prop_kind::forward_training, kind, data, 0.0F, 0.0F}, user_scratchpad(), engine};
#endif
}

dnnl::eltwise_backward::primitive_desc describe_backward(const dnnl::engine& engine, dnnl::algorithm kind,
                                                         const memory::desc& data,
                                                         const dnnl::eltwise_forward::primitive_desc& forward) {
#if DNNL_VERSION_MAJOR >= 3
  return {engine, kind, data, data, data, 0.0F, 0.0F, forward, user_scratchpad()};
#else
  return {{kind, data, data, 0.0F, 0.0F}, user_scratchpad(), engine, forward};
#endif
}

}  // namespace

/// Primitives for one block of Linear::kRowBlock rows, so that no plan depends on the number of rows.
struct ActivationLayer::State {
  std::size_t block = 0;  ///< values in a block
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  memory::desc data, forward_scratch, backward_scratch;
  dnnl::eltwise_forward forward;
  dnnl::eltwise_backward backward;

  [[nodiscard]] memory view(const memory::desc& desc, const void* bytes) const {
    return {desc, engine, const_cast<void*>(bytes)};
  }
};

ActivationLayer::ActivationLayer(std::unique_ptr<State> state) : state_(std::move(state)) {}
ActivationLayer::ActivationLayer(ActivationLayer&&) noexcept = default;
ActivationLayer& ActivationLayer::operator=(ActivationLayer&&) noexcept = default;
ActivationLayer::~ActivationLayer() = default;

Result<ActivationLayer> ActivationLayer::create(Epilogue activation, std::size_t width) {
  const auto kind = algorithm_of(activation);
  if (!kind) return Error{ErrorCode::kInvalidArgument, "activation layer: not an activation"};
  try {
    auto state = std::make_unique<State>();
    state->block = Linear::kRowBlock * width;
    state->data = memory::desc({static_cast<memory::dim>(state->block)}, memory::data_type::f32, memory::format_tag::a);
    const auto forward = describe_forward(state->engine, *kind, state->data);
    const auto backward = describe_backward(state->engine, *kind, state->data, forward);
    state->forward_scratch = forward.scratchpad_desc();
    state->backward_scratch = backward.scratchpad_desc();
    state->forward = dnnl::eltwise_forward(forward);
    state->backward = dnnl::eltwise_backward(backward);
    return ActivationLayer(std::move(state));
  } catch (const dnnl::error& error) {
    return Error{ErrorCode::kModel, std::string("oneDNN: ") + error.what()};
  }
}

Status ActivationLayer::run(const float* x, float* y, std::size_t rows, Scratch& scratch) const {
  const State& s = *state_;
  try {
    for (std::size_t at = 0; at < Linear::padded_rows(rows); at += Linear::kRowBlock) {
      const std::size_t offset = at / Linear::kRowBlock * s.block;
      s.forward.execute(
          s.stream, {{DNNL_ARG_SRC, s.view(s.data, x + offset)},
                     {DNNL_ARG_DST, s.view(s.data, y + offset)},
                     {DNNL_ARG_SCRATCHPAD, s.view(s.forward_scratch, scratch.reserve(s.forward_scratch.get_size()))}});
    }
    return {};
  } catch (const dnnl::error& error) {
    return Error{ErrorCode::kModel, std::string("oneDNN: ") + error.what()};
  }
}

Status ActivationLayer::run_backward(const float* x, float* gradient, std::size_t rows, Scratch& scratch) const {
  const State& s = *state_;
  try {
    for (std::size_t at = 0; at < Linear::padded_rows(rows); at += Linear::kRowBlock) {
      const std::size_t offset = at / Linear::kRowBlock * s.block;
      s.backward.execute(s.stream, {{DNNL_ARG_SRC, s.view(s.data, x + offset)},
                                    {DNNL_ARG_DIFF_DST, s.view(s.data, gradient + offset)},
                                    {DNNL_ARG_DIFF_SRC, s.view(s.data, gradient + offset)},
                                    {DNNL_ARG_SCRATCHPAD,
                                     s.view(s.backward_scratch, scratch.reserve(s.backward_scratch.get_size()))}});
    }
    return {};
  } catch (const dnnl::error& error) {
    return Error{ErrorCode::kModel, std::string("oneDNN: ") + error.what()};
  }
}

}  // namespace casemate
