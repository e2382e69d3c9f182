// Answers token by token, after the prompt was read.
#pragma once

#include <span>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "llm/llama_core.h"

namespace casemate::llm {

/// A grammar's state; does nothing where the grammar is empty.
class LlamaGrammar {
 public:
  /// Error: InvalidOption, with what is wrong.
  static Result<LlamaGrammar> create(const LlamaCore& core, const std::string& text);
  /// `logits` with what the grammar forbids at minus infinity.
  std::span<const float> apply(std::span<const float> logits);
  void accept(TokenId id);

 private:
  LlamaSamplerHandle sampler_;
  std::vector<float> masked_;
  std::vector<llama_token_data> candidates_;
};

struct AnswerRequest {
  std::span<const TokenId> prompt;
  const GenerateOptions& options;
  const OnText& on_text;
  LlamaGrammar& grammar;
  bool watched = false;  ///< every token of the answer is read, the last one too, which nothing follows
};

/// The cells of an answer. They are those of `main` until somebody else wants to compute; then they move to a stream
/// among the batches', where the answer's steps are computed together with theirs, and `main` is free for the next
/// prompt. The bits are the same. A watched answer stays, and so does one for which there is no room.
class AnswerCells {
 public:
  /// `whole` is held, and `main` has read `prompt`; it is given back when the answer moves or at the end.
  AnswerCells(LlamaCore& core, std::unique_lock<LlamaTurns>& whole, std::span<const TokenId> prompt, bool watched)
      : core_(core), whole_(whole), prompt_(prompt), watched_(watched), cells_(prompt.size()) {}
  /// Forgets the answer.
  ~AnswerCells();
  AnswerCells(const AnswerCells&) = delete;
  AnswerCells& operator=(const AnswerCells&) = delete;

  /// Of what comes next; valid until the next `read`.
  [[nodiscard]] Result<std::span<const float>> logits() const;
  /// Reads one token more. Error: Cancelled, Model.
  [[nodiscard]] Status read(TokenId token, const std::stop_token& stop);

 private:
  [[nodiscard]] Status read_in_main(TokenId token, const std::stop_token& stop);
  [[nodiscard]] Status read_in_company(TokenId token, const std::stop_token& stop);
  void move_if_there_is_room();

  LlamaCore& core_;
  std::unique_lock<LlamaTurns>& whole_;
  std::span<const TokenId> prompt_;
  bool watched_;
  std::size_t cells_;  ///< tokens read
  bool has_moved_ = false;
  StreamUser place_;  ///< where to, since then; changed by whoever has the turn
  std::vector<float> logits_;
};

/// The answer to the prompt that `main` has read. Error: Cancelled, Model.
[[nodiscard]] Result<Generation> answer_prompt(LlamaCore& core, std::unique_lock<LlamaTurns>& whole,
                                               const AnswerRequest& request, const std::stop_token& stop);

}  // namespace casemate::llm
