// Text to tokens and back with a GGUF's own vocabulary and chat template. Immutable, thread-safe.
#pragma once

#include <llama.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "casemate/core/status.h"
#include "casemate/llm/prompt.h"
#include "casemate/text/tokenizer.h"

namespace casemate::llm {

class LlamaVocabulary {
 public:
  /// The model must outlive this.
  explicit LlamaVocabulary(const llama_model* model);

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool has_chat_template() const noexcept { return !chat_template_.empty(); }
  [[nodiscard]] Result<Tokens> tokenize(std::string_view text, SpecialTokens mode) const;
  [[nodiscard]] Result<PromptTokens> tokenize_prompt(const Prompt& prompt) const;
  [[nodiscard]] Result<std::string> detokenize(std::span<const TokenId> ids) const;
  /// Bytes of one token; empty for special tokens unless `special`.
  [[nodiscard]] std::string piece(TokenId id, bool special) const;
  [[nodiscard]] bool is_special(TokenId id) const noexcept;
  [[nodiscard]] bool is_end(TokenId id) const noexcept;
  /// Error: InvalidArgument, naming the id and the range.
  [[nodiscard]] Status check(std::span<const TokenId> ids) const;

 private:
  [[nodiscard]] Result<std::vector<TokenId>> encode(std::string_view text, bool parse_special) const;
  [[nodiscard]] std::vector<std::size_t> cuts_inside_added_tokens(std::string_view text) const;
  [[nodiscard]] Result<std::string> render(const Prompt& prompt) const;

  const llama_vocab* vocabulary_;
  std::size_t size_;
  bool adds_first_token_;
  std::string chat_template_;
  /// Added tokens that llama.cpp finds in any text, whatever the mode ("<tool_call>").
  std::vector<std::string> added_tokens_;
};

}  // namespace casemate::llm
