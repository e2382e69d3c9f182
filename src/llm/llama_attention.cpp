#include <ggml-backend.h>

#include <charconv>
#include <cstring>
#include <string_view>

#include "llm/llama_core.h"

namespace casemate::llm {
namespace {

constexpr std::string_view kNodePrefix = "kq_soft_max-";

struct Observer {
  const AttentionVisitor* visitor = nullptr;
  Status status;
  std::size_t first_row = 0;
  std::size_t rows = 0;
  std::size_t blocks = 0;
  std::vector<float> weights;
};

/// Head average of a softmax node [cells, tokens, heads]; the session is fresh, so cell i holds position i.
Status visit(Observer& observer, const ggml_tensor& node) {
  AttentionBlock block;
  const char* number = node.name + kNodePrefix.size();
  if (std::from_chars(number, node.name + std::strlen(node.name), block.layer).ec != std::errc()) {
    return Error{ErrorCode::kModel, "an attention node has no layer number"};
  }
  block.first_row = observer.first_row;
  block.rows = observer.rows;
  block.columns = observer.first_row + observer.rows;
  if (node.type != GGML_TYPE_F32 || !ggml_backend_buffer_is_host(node.buffer) ||
      static_cast<std::size_t>(node.ne[0]) < block.columns || static_cast<std::size_t>(node.ne[1]) != block.rows ||
      node.ne[3] != 1) {
    return Error{ErrorCode::kUnsupported, "this model's attention has a form that cannot be read"};
  }
  observer.weights.assign(block.rows * block.columns, 0.0F);
  const auto heads = static_cast<std::size_t>(node.ne[2]);
  const auto* data = static_cast<const char*>(node.data);
  for (std::size_t head = 0; head < heads; ++head) {
    for (std::size_t row = 0; row < block.rows; ++row) {
      const auto* from = reinterpret_cast<const float*>(data + head * node.nb[2] + row * node.nb[1]);
      float* to = observer.weights.data() + row * block.columns;
      const std::size_t seen = observer.first_row + row + 1;
      for (std::size_t column = 0; column < seen; ++column) to[column] += from[column];
    }
  }
  const float scale = 1.0F / static_cast<float>(heads);
  for (float& weight : observer.weights) weight *= scale;
  block.weights = observer.weights;
  ++observer.blocks;
  return (*observer.visitor)(block);
}

bool on_node(ggml_tensor* node, bool ask, void* data) {
  auto& observer = *static_cast<Observer*>(data);
  const bool wanted = std::string_view(node->name).starts_with(kNodePrefix);
  if (ask || !wanted) return wanted || !ask;
  if (observer.status.ok()) observer.status = visit(observer, *node);
  return observer.status.ok();
}

}  // namespace

Status run_llama_attention(LlamaCore& core, std::span<const TokenId> tokens, const AttentionVisitor& visitor,
                           const std::stop_token& stop) {
  Observer observer;
  observer.visitor = &visitor;
  SessionOptions options;
  options.adapter = core.adapter;
  options.adapter_scale = core.options.adapter_scale;
  options.tokens_per_stream = static_cast<int>(tokens.size());
  options.chunk_tokens = core.options.chunk_tokens;
  options.max_logit_rows = 1;
  options.threads = core.threads;
  options.eval_callback = &on_node;
  options.eval_data = &observer;
  auto session = LlamaSession::create(core.model.get(), core.pool.get(), options);
  if (!session) return session.error();
  std::vector<Row> rows;
  for (std::size_t at = 0; at < tokens.size(); at += observer.rows) {
    observer.first_row = at;
    observer.rows = std::min(static_cast<std::size_t>(options.chunk_tokens), tokens.size() - at);
    rows.clear();
    for (std::size_t i = at; i < at + observer.rows; ++i) {
      rows.push_back({tokens[i], static_cast<std::int32_t>(i), 0, i + 1 == at + observer.rows});
    }
    const Status decoded = (*session)->decode(rows, stop);
    if (!observer.status.ok()) return observer.status;
    if (!decoded) return decoded;
  }
  core.count(tokens.size(), 0);
  if (observer.blocks == 0) {
    return Error{ErrorCode::kUnsupported, "this model's attention weights cannot be seen (no softmax nodes)"};
  }
  return {};
}

}  // namespace casemate::llm
