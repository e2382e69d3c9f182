#include "text/roberta_framing.h"

#include <algorithm>

namespace casemate {

Result<RobertaFraming> RobertaFraming::create(const std::vector<AddedToken>& tokens) {
  RobertaFraming framing;
  const auto find = [&](std::string_view text) {
    const auto it =
        std::find_if(tokens.begin(), tokens.end(), [&](const AddedToken& token) { return token.text == text; });
    return it == tokens.end() ? TokenId{-1} : it->id;
  };
  const TokenId begin = find("<s>");
  const TokenId end = find("</s>");
  framing.padding_ = find("<pad>");
  framing.mask_ = find("<mask>");
  framing.unknown_ = find("<unk>");
  if (begin < 0 || end < 0 || framing.padding_ < 0) {
    return Error{ErrorCode::kInvalidInput, "the special tokens <s>, </s> and <pad> must be among added_tokens"};
  }
  framing.prefix_ = {begin};
  framing.suffix_ = {end};
  framing.separator_ = {end, end};
  for (const AddedToken& token : tokens) {
    framing.matcher_.add(token.text, token.id, token.strips_left);
    framing.specials_.push_back(token.id);
  }
  return framing;
}

bool RobertaFraming::is_special(TokenId id) const {
  return std::find(specials_.begin(), specials_.end(), id) != specials_.end();
}

Tokens RobertaTokenizer::tokenize(std::string_view text, SpecialTokens mode) const {
  Tokens tokens;
  for (const SpecialTokenMatcher::Piece& piece : framing_.matcher().split(text, mode)) {
    if (piece.special >= 0) {
      tokens.ids.push_back(piece.special);
      tokens.spans.push_back(piece.span);
    } else {
      tokenize_ordinary(text.substr(piece.span.begin, piece.span.end - piece.span.begin), piece.span.begin, tokens);
    }
  }
  return tokens;
}

}  // namespace casemate
