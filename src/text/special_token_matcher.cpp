#include "text/special_token_matcher.h"

#include <algorithm>
#include <utility>

namespace casemate {
namespace {

bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

}  // namespace

void SpecialTokenMatcher::add(std::string token, TokenId id, bool strips_left) {
  if (token.empty()) return;
  entries_.push_back({std::move(token), id, strips_left});
  std::stable_sort(entries_.begin(), entries_.end(),
                   [](const Entry& a, const Entry& b) { return a.token.size() > b.token.size(); });
}

std::vector<SpecialTokenMatcher::Piece> SpecialTokenMatcher::split(std::string_view text, SpecialTokens mode) const {
  std::vector<Piece> pieces;
  std::size_t begin = 0;
  const auto flush = [&](std::size_t end) {
    if (end > begin) pieces.push_back({-1, {begin, end}});
  };
  if (mode == SpecialTokens::kHuggingFace) {
    // Only places with a special token's first byte need a look, which keeps ordinary text linear.
    bool starts[256] = {};
    for (const Entry& entry : entries_) starts[static_cast<unsigned char>(entry.token[0])] = true;
    for (std::size_t at = 0; at < text.size();) {
      const Entry* match = nullptr;
      if (starts[static_cast<unsigned char>(text[at])]) {
        for (const Entry& entry : entries_) {
          if (text.substr(at, entry.token.size()) == entry.token) {
            match = &entry;
            break;
          }
        }
      }
      if (match == nullptr) {
        ++at;
        continue;
      }
      std::size_t from = at;
      while (match->strips_left && from > begin && is_blank(text[from - 1])) --from;
      flush(from);
      pieces.push_back({match->id, {from, at + match->token.size()}});
      at += match->token.size();
      begin = at;
    }
  }
  flush(text.size());
  return pieces;
}

}  // namespace casemate
