// Attention weights as a graph is computed: what a context's evaluation callback sees.
#pragma once

#include <cstddef>
#include <vector>

#include "casemate/llm/language_model.h"
#include "llm/llama_session.h"

namespace casemate::llm {

/// Hands the head average of every layer's softmax to a visitor. For sessions whose only stream is filled from its
/// beginning on and cut at its end only, so that cell i holds position i. One thread at a time, and only while it
/// computes with that session. At one address for as long as the session lives.
class AttentionTap {
 public:
  /// Puts the tap into a session's options.
  void into(SessionOptions& options) {
    options.eval_callback = &AttentionTap::on_node;
    options.eval_data = this;
  }

  /// From here on every decode is seen. `visitor` must outlive the watch.
  void watch(const AttentionVisitor& visitor) {
    *this = {};
    visitor_ = &visitor;
  }
  void look_away() noexcept { visitor_ = nullptr; }

  /// Decodes the rows of one piece while watching. Error: the visitor's; what the session says; Unsupported where the
  /// model has no softmax to see.
  [[nodiscard]] Status decode(LlamaSession& session, std::span<const Row> rows, const std::stop_token& stop);

 private:
  static bool on_node(ggml_tensor* node, bool ask, void* data);
  Status visit(const ggml_tensor& node);

  const AttentionVisitor* visitor_ = nullptr;
  Status status_;
  std::size_t first_row_ = 0;
  std::size_t rows_ = 0;
  std::size_t blocks_ = 0;
  std::vector<float> weights_;
};

/// Decodes all of `tokens` into the session's empty stream, watched, in pieces; logits for the last one only.
[[nodiscard]] Status decode_watched(AttentionTap& tap, LlamaSession& session, std::span<const TokenId> tokens,
                                    const std::stop_token& stop);

}  // namespace casemate::llm
