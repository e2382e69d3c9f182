#include "llm/llama_attention.h"

#include <ggml-backend.h>

#include <charconv>
#include <cstring>
#include <string_view>

#include "llm/llama_core.h"

namespace casemate::llm {
namespace {

constexpr std::string_view kNodePrefix = "kq_soft_max-";

}  // namespace

/// The softmax node is [cells, tokens, heads].
Status AttentionTap::visit(const ggml_tensor& node) {
  AttentionBlock block;
  const char* number = node.name + kNodePrefix.size();
  if (std::from_chars(number, node.name + std::strlen(node.name), block.layer).ec != std::errc()) {
    return Error{ErrorCode::kModel, "an attention node has no layer number"};
  }
  block.first_row = first_row_;
  block.rows = rows_;
  block.columns = first_row_ + rows_;
  if (node.type != GGML_TYPE_F32 || !ggml_backend_buffer_is_host(node.buffer) ||
      static_cast<std::size_t>(node.ne[0]) < block.columns || static_cast<std::size_t>(node.ne[1]) != block.rows ||
      node.ne[3] != 1) {
    return Error{ErrorCode::kUnsupported, "this model's attention has a form that cannot be read"};
  }
  weights_.assign(block.rows * block.columns, 0.0F);
  const auto heads = static_cast<std::size_t>(node.ne[2]);
  const auto* data = static_cast<const char*>(node.data);
  for (std::size_t head = 0; head < heads; ++head) {
    for (std::size_t row = 0; row < block.rows; ++row) {
      const auto* from = reinterpret_cast<const float*>(data + head * node.nb[2] + row * node.nb[1]);
      float* to = weights_.data() + row * block.columns;
      const std::size_t seen = first_row_ + row + 1;
      for (std::size_t column = 0; column < seen; ++column) to[column] += from[column];
    }
  }
  const float scale = 1.0F / static_cast<float>(heads);
  for (float& weight : weights_) weight *= scale;
  block.weights = weights_;
  ++blocks_;
  return (*visitor_)(block);
}

bool AttentionTap::on_node(ggml_tensor* node, bool ask, void* data) {
  auto& tap = *static_cast<AttentionTap*>(data);
  if (tap.visitor_ == nullptr) return !ask;
  const bool wanted = std::string_view(node->name).starts_with(kNodePrefix);
  if (ask || !wanted) return wanted || !ask;
  if (tap.status_.ok()) tap.status_ = tap.visit(*node);
  return tap.status_.ok();
}

Status AttentionTap::decode(LlamaSession& session, std::span<const Row> rows, const std::stop_token& stop) {
  if (rows.empty()) return {};
  first_row_ = static_cast<std::size_t>(rows.front().position);
  rows_ = rows.size();
  blocks_ = 0;
  const Status decoded = session.decode(rows, stop);
  if (!status_.ok()) return status_;
  if (!decoded) return decoded;
  if (blocks_ == 0) {
    return Error{ErrorCode::kUnsupported, "this model's attention weights cannot be seen (no softmax nodes)"};
  }
  return {};
}

Status decode_watched(AttentionTap& tap, LlamaSession& session, std::span<const TokenId> tokens,
                      const std::stop_token& stop) {
  std::vector<Row> rows;
  for (std::size_t at = 0; at < tokens.size();) {
    const std::size_t end = next_piece_end(at, tokens.size(), static_cast<std::size_t>(session.options().chunk_tokens));
    rows.clear();
    for (std::size_t i = at; i < end; ++i)
      rows.push_back({tokens[i], static_cast<std::int32_t>(i), 0, i + 1 == tokens.size()});
    if (Status decoded = tap.decode(session, rows, stop); !decoded) return decoded;
    at = end;
  }
  return {};
}

Status run_llama_attention(LlamaCore& core, std::span<const TokenId> tokens, const AttentionVisitor& visitor,
                           const std::stop_token& stop) {
  AttentionTap tap;
  auto session = core.make_session(1, static_cast<int>(tokens.size()), &tap);
  if (!session) return session.error();
  tap.watch(visitor);
  if (Status decoded = decode_watched(tap, **session, tokens, stop); !decoded) return decoded;
  core.count(tokens.size(), 0);
  return {};
}

}  // namespace casemate::llm
