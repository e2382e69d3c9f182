#include "attack/token_pool.h"

#include <algorithm>
#include <string>

#include "casemate/core/utf8.h"

namespace casemate {
namespace {

/// Shows something, and is neither left out nor changed by the clean-up of documents.
bool is_printable(std::uint32_t c) {
  if (c < 0x20 || (c >= 0x7F && c <= 0x9F) || c == 0xAD || c == 0xFFFD || c == 0xFEFF) return false;
  if ((c >= 0x200B && c <= 0x200F) || (c >= 0x2028 && c <= 0x202E) || (c >= 0x2060 && c <= 0x206F)) return false;
  if ((c >= 0xE000 && c <= 0xF8FF) || (c >= 0xFE00 && c <= 0xFE0F) || c >= 0xE0000) return false;
  return (c & 0xFFFEU) != 0xFFFEU;
}

bool is_printable(std::string_view text) {
  bool shows = false;
  for (std::size_t at = 0; at < text.size();) {
    const auto character = read_code_point(text, at);
    if (!is_printable(character.value)) return false;
    shows = shows || character.value != ' ';
    at += character.length;
  }
  return shows;
}

/// "[unused12]", "<unused12>", "madeupword0001": places that vocabularies keep for later; their embeddings are noise.
bool is_reserved(std::string_view piece) {
  const auto has = [piece](std::string_view part) { return piece.find(part) != std::string_view::npos; };
  return has("unused") || has("madeupword") || has("<extra_id") || has("<|");
}

}  // namespace

TokenPool::TokenPool(const DifferentiableEncoder& encoder) : encoder_(encoder) {
  const Tokenizer& tokenizer = encoder.tokenizer();
  const std::size_t rows = encoder.hidden() == 0 ? 0 : encoder.word_embeddings().size() / encoder.hidden();
  const std::size_t size = std::min(tokenizer.vocabulary_size(), rows);
  for (std::size_t i = 0; i < size; ++i) {
    const auto id = static_cast<TokenId>(i);
    if (tokenizer.is_special(id) || is_reserved(tokenizer.piece(id))) continue;
    const std::string text = tokenizer.decode(std::span(&id, 1));
    if (!is_printable(text)) continue;
    const bool continues = tokenizer.piece(id).starts_with("##");
    const Tokens read = tokenizer.tokenize(text, SpecialTokens::kAsText);
    if (continues || (read.ids.size() == 1 && read.ids[0] == id)) allowed_.push_back(id);
  }
}

std::vector<TokenId> TokenPool::best(std::span<const float> gradient, TokenId current, std::size_t count) const {
  const std::size_t hidden = encoder_.hidden();
  const auto gain_of = [&](TokenId id) {
    const float* row = encoder_.word_embeddings().data() + static_cast<std::size_t>(id) * hidden;
    float lanes[8] = {};  // a fixed order of additions that the compiler can do side by side
    std::size_t d = 0;
    for (; d + 8 <= hidden; d += 8) {
      for (std::size_t l = 0; l < 8; ++l) lanes[l] += gradient[d + l] * row[d + l];
    }
    for (; d < hidden; ++d) lanes[0] += gradient[d] * row[d];
    return ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
  };
  const float least = gain_of(current);
  std::vector<std::pair<float, TokenId>> found;
  for (const TokenId id : allowed_) {
    const float gain = gain_of(id);
    if (gain > least && id != current) found.emplace_back(-gain, id);
  }
  count = std::min(count, found.size());
  const auto middle = found.begin() + static_cast<std::ptrdiff_t>(count);
  std::partial_sort(found.begin(), middle, found.end());
  std::vector<TokenId> out;
  std::transform(found.begin(), middle, std::back_inserter(out), [](const auto& each) { return each.second; });
  return out;
}

}  // namespace casemate
