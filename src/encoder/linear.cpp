#include "encoder/linear.h"

#include <omp.h>

#include <mutex>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <shared_mutex>
#include <string>
#include <unordered_map>

#include "encoder/activation_layer.h"

namespace casemate {
namespace {

using dnnl::memory;

Error dnnl_error(const dnnl::error& error) { return {ErrorCode::kModel, std::string("oneDNN: ") + error.what()}; }

dnnl::primitive_attr attributes(Epilogue epilogue) {
  dnnl::post_ops operations;
#if DNNL_VERSION_MAJOR >= 3
  const auto activation = [&](dnnl::algorithm kind) { operations.append_eltwise(kind, 0.0F, 0.0F); };
#else
  const auto activation = [&](dnnl::algorithm kind) { operations.append_eltwise(1.0F, kind, 0.0F, 0.0F); };
#endif
  switch (epilogue) {
    case Epilogue::kNone:
      break;
    case Epilogue::kGeluErf:
      activation(dnnl::algorithm::eltwise_gelu_erf);
      break;
    case Epilogue::kGeluTanh:
      activation(dnnl::algorithm::eltwise_gelu_tanh);
      break;
    case Epilogue::kRelu:
      activation(dnnl::algorithm::eltwise_relu);
      break;
    case Epilogue::kAddToOutput:
      operations.append_sum(1.0F);
      break;
  }
  dnnl::primitive_attr attr;
  attr.set_post_ops(operations);
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attr;
}

dnnl::matmul::primitive_desc describe(const dnnl::engine& engine, const memory::desc& x, const memory::desc& w,
                                      const memory::desc& b, const memory::desc& y, const dnnl::primitive_attr& attr) {
#if DNNL_VERSION_MAJOR >= 3
  return {engine, x, w, b, y, attr};
#else
  return {dnnl::matmul::desc(x, w, b, y), attr, engine};
#endif
}

}  // namespace

struct Linear::State {
  struct Plan {
    dnnl::matmul primitive;
    memory::desc x, y, scratchpad;
  };

  std::size_t in = 0;
  std::size_t out = 0;
  Epilogue epilogue = Epilogue::kNone;
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  memory weights;
  memory bias;
  std::shared_mutex mutex;
  std::unordered_map<std::size_t, std::unique_ptr<Plan>> plans;
  // In fixed point these are used instead of the weights and plans above.
  std::shared_ptr<const kernels::FixedWeights> fixed;
  std::optional<ActivationLayer> activation;

  [[nodiscard]] dnnl::matmul::primitive_desc describe_rows(std::size_t rows, const memory::desc& w) const {
    const auto dim = [](std::size_t n) { return static_cast<memory::dim>(n); };
    const memory::desc x({dim(rows), dim(in)}, memory::data_type::f32, memory::format_tag::ab);
    const memory::desc y({dim(rows), dim(out)}, memory::data_type::f32, memory::format_tag::ab);
    return describe(engine, x, w, bias.get_desc(), y, attributes(epilogue));
  }

  const Plan& plan(std::size_t rows) {
    {
      const std::shared_lock lock(mutex);
      const auto it = plans.find(rows);
      if (it != plans.end()) return *it->second;
    }
    const auto description = describe_rows(rows, weights.get_desc());
    auto made = std::make_unique<Plan>(
        Plan{dnnl::matmul(description), description.src_desc(), description.dst_desc(), description.scratchpad_desc()});
    const std::unique_lock lock(mutex);
    return *plans.try_emplace(rows, std::move(made)).first->second;
  }
};

Linear::Linear(std::unique_ptr<State> state) : state_(std::move(state)) {}
Linear::Linear(Linear&&) noexcept = default;
Linear& Linear::operator=(Linear&&) noexcept = default;
Linear::~Linear() = default;

Result<Linear> Linear::create(std::span<const float> weights, std::span<const float> bias, std::size_t in,
                              std::size_t out, Epilogue epilogue, Precision precision) {
  if (weights.size() != in * out || bias.size() != out)
    return Error{ErrorCode::kMismatch, "linear layer: sizes do not agree"};
  try {
    const OneThread one_thread;
    auto state = std::make_unique<State>();
    state->in = in;
    state->out = out;
    state->epilogue = epilogue;
    if (precision == Precision::kFixed16) {
      state->fixed = std::make_shared<kernels::FixedWeights>(kernels::to_fixed_weights(weights, bias, in, out));
      if (epilogue == Epilogue::kNone || epilogue == Epilogue::kAddToOutput) return Linear(std::move(state));
      auto activation = ActivationLayer::create(epilogue, out);
      if (!activation) return activation.error();
      state->activation.emplace(*std::move(activation));
      return Linear(std::move(state));
    }
    const memory::dims shape{static_cast<memory::dim>(in), static_cast<memory::dim>(out)};
    state->bias =
        memory({{1, static_cast<memory::dim>(out)}, memory::data_type::f32, memory::format_tag::ab}, state->engine);
    std::copy(bias.begin(), bias.end(), static_cast<float*>(state->bias.get_data_handle()));
    // The layout that suits a large batch is used for every batch, so that there is one copy of the weights.
    const auto preferred =
        state->describe_rows(512, memory::desc(shape, memory::data_type::f32, memory::format_tag::any)).weights_desc();
    state->weights = memory(preferred, state->engine);
    memory given({shape, memory::data_type::f32, memory::format_tag::ba}, state->engine,
                 const_cast<float*>(weights.data()));
    dnnl::reorder(given, state->weights).execute(state->stream, given, state->weights);
    state->stream.wait();
    return Linear(std::move(state));
  } catch (const dnnl::error& error) {
    return dnnl_error(error);
  }
}

Linear Linear::without_activation() const {
  auto state = std::make_unique<State>();
  state->in = state_->in;
  state->out = state_->out;
  state->weights = state_->weights;
  state->bias = state_->bias;
  state->fixed = state_->fixed;
  return Linear(std::move(state));
}

Result<Linear> Linear::transposed(Epilogue epilogue) const {
  const std::size_t in = state_->in;
  const std::size_t out = state_->out;
  try {
    // weights is [in, out] in oneDNN's eyes, so that its plain row-major copy is [out, in] of the layer from out to in.
    std::vector<float> plain(in * out);
    if (state_->fixed != nullptr) {
      kernels::transpose_fixed_weights(*state_->fixed, plain);
      return create(plain, std::vector<float>(in), out, in, epilogue);
    }
    const OneThread one_thread;
    memory copy(
        {{static_cast<memory::dim>(in), static_cast<memory::dim>(out)}, memory::data_type::f32, memory::format_tag::ab},
        state_->engine, plain.data());
    dnnl::reorder(state_->weights, copy).execute(state_->stream, state_->weights, copy);
    state_->stream.wait();
    return create(plain, std::vector<float>(in), out, in, epilogue);
  } catch (const dnnl::error& error) {
    return dnnl_error(error);
  }
}

Status Linear::run(const float* x, float* y, std::size_t rows, Scratch& scratch) const {
  if (rows == 0) return {};
  if (state_->fixed != nullptr) return run_fixed(x, y, rows, scratch);
  try {
    const State::Plan& plan = state_->plan(padded_rows(rows));
    const auto view = [&](const memory::desc& desc, const void* data) {
      return memory(desc, state_->engine, const_cast<void*>(data));
    };
    plan.primitive.execute(state_->stream,
                           {{DNNL_ARG_SRC, view(plan.x, x)},
                            {DNNL_ARG_WEIGHTS, state_->weights},
                            {DNNL_ARG_BIAS, state_->bias},
                            {DNNL_ARG_DST, view(plan.y, y)},
                            {DNNL_ARG_SCRATCHPAD, view(plan.scratchpad, scratch.reserve(plan.scratchpad.get_size()))}});
    return {};
  } catch (const dnnl::error& error) {
    return dnnl_error(error);
  }
}

Status Linear::run_fixed(const float* x, float* y, std::size_t rows, Scratch& scratch) const {
  kernels::to_fixed_rows(x, rows, state_->in, scratch.fixed_rows());
  const bool add = state_->epilogue == Epilogue::kAddToOutput;
  kernels::fixed_kernel().multiply(scratch.fixed_rows(), *state_->fixed, rows, add, y);
  return state_->activation ? state_->activation->run(y, y, rows, scratch) : Status{};
}

OneThread::OneThread() : before_(omp_get_max_threads()) { omp_set_num_threads(1); }
OneThread::~OneThread() { omp_set_num_threads(before_); }

}  // namespace casemate
