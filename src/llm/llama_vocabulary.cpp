#include "llm/llama_vocabulary.h"

#include <algorithm>
#include <exception>
#include <limits>

namespace casemate::llm {
namespace {

/// Stands for part `part` of message `message` while the template is rendered. Blanks around it would be trimmed by
/// some templates, so it has none.
std::string placeholder(std::size_t message, std::size_t part) {
  return "@@casemate:" + std::to_string(message) + ":" + std::to_string(part) + "@@";
}

/// Byte spans of tokens whose pieces spell `text`, from `offset` on. A vocabulary may put a blank before the text.
std::vector<TokenSpan> spans_of(const std::vector<std::string>& pieces, std::string_view text, std::size_t offset) {
  std::size_t total = 0;
  for (const std::string& piece : pieces) total += piece.size();
  std::size_t skip = total == text.size() + 1 && !pieces.empty() && pieces.front().starts_with(' ') ? 1 : 0;
  std::vector<TokenSpan> spans;
  std::size_t at = 0;
  for (const std::string& piece : pieces) {
    const std::size_t length = piece.size() - std::min(skip, piece.size());
    skip = 0;
    const std::size_t end = std::min(at + length, text.size());
    spans.push_back({offset + at, offset + end});
    at = end;
  }
  return spans;
}

}  // namespace

LlamaVocabulary::LlamaVocabulary(const llama_model* model)
    : vocabulary_(llama_model_get_vocab(model)),
      size_(static_cast<std::size_t>(llama_vocab_n_tokens(vocabulary_))),
      adds_first_token_(llama_vocab_get_add_bos(vocabulary_) && llama_vocab_bos(vocabulary_) >= 0) {
  if (const char* text = llama_model_chat_template(model, nullptr)) chat_template_ = text;
  for (std::size_t id = 0; id < size_; ++id) {
    const auto attributes = llama_vocab_get_attr(vocabulary_, static_cast<llama_token>(id));
    if ((attributes & LLAMA_TOKEN_ATTR_USER_DEFINED) == 0) continue;
    std::string text = piece(static_cast<TokenId>(id), true);
    // Runs of blanks are added tokens of some vocabularies and say nothing.
    if (text.size() >= 2 && text.find_first_not_of(" \t\n\r") != std::string::npos) added_tokens_.push_back(text);
  }
}

Result<std::vector<TokenId>> LlamaVocabulary::encode(std::string_view text, bool parse_special) const {
  if (text.empty()) return std::vector<TokenId>{};
  if (text.size() > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()) / 2) {
    return Error{ErrorCode::kLimit, "a text of " + std::to_string(text.size()) + " bytes is too long to tokenise"};
  }
  try {
    std::vector<TokenId> ids(text.size() + 2);
    const auto length = static_cast<std::int32_t>(text.size());
    int count = llama_tokenize(vocabulary_, text.data(), length, ids.data(), static_cast<std::int32_t>(ids.size()),
                               false, parse_special);
    if (count < 0 && count != std::numeric_limits<std::int32_t>::min()) {
      ids.resize(static_cast<std::size_t>(-count));
      count = llama_tokenize(vocabulary_, text.data(), length, ids.data(), static_cast<std::int32_t>(ids.size()), false,
                             parse_special);
    }
    if (count < 0) return Error{ErrorCode::kModel, "the text could not be tokenised"};
    ids.resize(static_cast<std::size_t>(count));
    return ids;
  } catch (const std::exception& failure) {
    return Error{ErrorCode::kModel, std::string("the text could not be tokenised: ") + failure.what()};
  }
}

std::vector<std::size_t> LlamaVocabulary::cuts_inside_added_tokens(std::string_view text) const {
  std::vector<std::size_t> cuts;
  for (const std::string& token : added_tokens_) {
    for (std::size_t at = text.find(token); at != std::string_view::npos; at = text.find(token, at + 1)) {
      cuts.push_back(at + 1);
    }
  }
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  cuts.push_back(text.size());
  return cuts;
}

Result<Tokens> LlamaVocabulary::tokenize(std::string_view text, SpecialTokens mode) const {
  const bool parse = mode == SpecialTokens::kHuggingFace;
  const std::vector<std::size_t> cuts = parse ? std::vector<std::size_t>{text.size()} : cuts_inside_added_tokens(text);
  Tokens out;
  std::size_t at = 0;
  for (const std::size_t cut : cuts) {
    const std::string_view part = text.substr(at, cut - at);
    auto ids = encode(part, parse);
    if (!ids) return ids.error();
    std::vector<std::string> pieces;
    for (const TokenId id : *ids) pieces.push_back(piece(id, true));
    const auto spans = spans_of(pieces, part, at);
    out.ids.insert(out.ids.end(), ids->begin(), ids->end());
    out.spans.insert(out.spans.end(), spans.begin(), spans.end());
    at = cut;
  }
  return out;
}

Result<std::string> LlamaVocabulary::render(const Prompt& prompt) const {
  std::vector<std::string> contents;
  std::vector<std::string> roles;
  for (std::size_t m = 0; m < prompt.messages.size(); ++m) {
    std::string content;
    for (std::size_t p = 0; p < prompt.messages[m].parts.size(); ++p) content += placeholder(m, p);
    contents.push_back(std::move(content));
    roles.emplace_back(role_name(prompt.messages[m].role));
  }
  if (!prompt.chat) return contents.empty() ? std::string() : contents.front();
  if (chat_template_.empty()) {
    return Error{ErrorCode::kUnsupported, "the model has no chat template; use a plain prompt"};
  }
  std::vector<llama_chat_message> messages;
  for (std::size_t i = 0; i < contents.size(); ++i) messages.push_back({roles[i].c_str(), contents[i].c_str()});
  std::vector<char> buffer(4096);
  for (int round = 0; round < 2; ++round) {
    const int length = llama_chat_apply_template(chat_template_.c_str(), messages.data(), messages.size(), true,
                                                 buffer.data(), static_cast<std::int32_t>(buffer.size()));
    if (length < 0) {
      return Error{ErrorCode::kUnsupported,
                   "the model's chat template is none of the forms known to llama.cpp; use a plain prompt"};
    }
    if (static_cast<std::size_t>(length) <= buffer.size()) {
      return std::string(buffer.data(), static_cast<std::size_t>(length));
    }
    buffer.resize(static_cast<std::size_t>(length) + 1);
  }
  return Error{ErrorCode::kModel, "the chat template could not be applied"};
}

Result<PromptTokens> LlamaVocabulary::tokenize_prompt(const Prompt& prompt) const {
  if (prompt.messages.empty()) return Error{ErrorCode::kInvalidArgument, "the prompt is empty"};
  auto rendered = render(prompt);
  if (!rendered) return rendered.error();
  PromptTokens out;
  const auto add = [&](std::string_view text, SpecialTokens mode, int message, int part) -> Status {
    auto tokens = tokenize(text, mode);
    if (!tokens) return tokens.error();
    for (std::size_t i = 0; i < tokens->ids.size(); ++i) {
      out.ids.push_back(tokens->ids[i]);
      out.origins.push_back({message, part, message < 0 ? TokenSpan{} : tokens->spans[i]});
    }
    return {};
  };
  if (adds_first_token_) {
    out.ids.push_back(llama_vocab_bos(vocabulary_));
    out.origins.emplace_back();
  }
  std::size_t at = 0;
  for (std::size_t m = 0; m < prompt.messages.size(); ++m) {
    for (std::size_t p = 0; p < prompt.messages[m].parts.size(); ++p) {
      const std::string mark = placeholder(m, p);
      const std::size_t found = rendered->find(mark, at);
      if (found == std::string::npos) {
        // Some templates drop or move messages (a system message, say); answering without a part would be silent loss.
        return Error{ErrorCode::kUnsupported, "the model's chat template leaves out the " +
                                                  std::string(role_name(prompt.messages[m].role)) +
                                                  " message; put its text into a user message"};
      }
      if (auto status = add(std::string_view(*rendered).substr(at, found - at), SpecialTokens::kHuggingFace, -1, -1);
          !status) {
        return status.error();
      }
      const PromptPart& part = prompt.messages[m].parts[p];
      // Program text in a chat has no business opening turns either; a plain prompt may spell its own frame.
      const bool parse = part.trusted && !prompt.chat;
      if (auto status = add(part.text, parse ? SpecialTokens::kHuggingFace : SpecialTokens::kAsText,
                            static_cast<int>(m), static_cast<int>(p));
          !status) {
        return status.error();
      }
      at = found + mark.size();
    }
  }
  if (auto status = add(std::string_view(*rendered).substr(at), SpecialTokens::kHuggingFace, -1, -1); !status) {
    return status.error();
  }
  // Templates often spell the first token themselves.
  if (adds_first_token_ && out.ids.size() > 1 && out.ids[1] == out.ids[0]) {
    out.ids.erase(out.ids.begin());
    out.origins.erase(out.origins.begin());
  }
  return out;
}

std::string LlamaVocabulary::piece(TokenId id, bool special) const {
  if (id < 0 || static_cast<std::size_t>(id) >= size_) return {};
  std::string buffer(64, '\0');
  int length =
      llama_token_to_piece(vocabulary_, id, buffer.data(), static_cast<std::int32_t>(buffer.size()), 0, special);
  if (length < 0) {
    buffer.resize(static_cast<std::size_t>(-length));
    length = llama_token_to_piece(vocabulary_, id, buffer.data(), static_cast<std::int32_t>(buffer.size()), 0, special);
  }
  buffer.resize(static_cast<std::size_t>(std::max(length, 0)));
  return buffer;
}

Result<std::string> LlamaVocabulary::detokenize(std::span<const TokenId> ids) const {
  if (auto status = check(ids); !status) return status.error();
  std::string text;
  for (const TokenId id : ids) text += piece(id, false);
  return text;
}

bool LlamaVocabulary::is_special(TokenId id) const noexcept {
  if (id < 0 || static_cast<std::size_t>(id) >= size_) return false;
  return llama_vocab_is_control(vocabulary_, id) || llama_vocab_is_eog(vocabulary_, id);
}

bool LlamaVocabulary::is_end(TokenId id) const noexcept {
  return id >= 0 && static_cast<std::size_t>(id) < size_ && llama_vocab_is_eog(vocabulary_, id);
}

Status LlamaVocabulary::check(std::span<const TokenId> ids) const {
  for (const TokenId id : ids) {
    if (id < 0 || static_cast<std::size_t>(id) >= size_) {
      return Error{ErrorCode::kInvalidArgument,
                   "token id " + std::to_string(id) + " is outside the vocabulary of " + std::to_string(size_)};
    }
  }
  return {};
}

}  // namespace casemate::llm
