#include "attack/words.h"

#include <algorithm>
#include <charconv>
#include <numeric>

#include "casemate/core/utf8.h"

namespace casemate {
namespace {

constexpr std::string_view kBlanks = " \t\r\n\f\v";

}  // namespace

std::vector<BlankSeparatedWord> blank_separated_words(std::string_view text) {
  std::vector<BlankSeparatedWord> words;
  std::size_t at = 0;
  while (true) {
    const std::size_t begin = text.find_first_not_of(kBlanks, at);
    if (begin == std::string_view::npos) return words;
    at = std::min(text.find_first_of(kBlanks, begin), text.size());
    words.push_back({begin, at});
  }
}

std::size_t count_characters(std::string_view text) {
  std::size_t count = 0;
  for (std::size_t at = 0; at < text.size(); ++count) at += read_code_point(text, at).length;
  return count;
}

CharacterSpan in_characters(std::string_view text, std::size_t begin, std::size_t end) {
  const std::size_t first = count_characters(text.substr(0, begin));
  return {first, first + count_characters(text.substr(begin, end - begin))};
}

std::vector<std::size_t> draw_indices(RandomStream& random, std::size_t bound, std::size_t count) {
  std::vector<std::size_t> all(bound);
  std::iota(all.begin(), all.end(), std::size_t{0});
  count = std::min(count, bound);
  for (std::size_t i = 0; i < count; ++i) std::swap(all[i], all[i + random.below(bound - i)]);
  all.resize(count);
  return all;
}

Result<std::vector<std::size_t>> draw_irrelevant(const AttackInput& input, std::string_view attack,
                                                 std::string_view name, std::span<const std::string> golds,
                                                 std::size_t count) {
  RandomStream random(input.seed, "attack/query-as-poison/" + std::string(name));
  std::vector<std::size_t> out;
  // As many more as there are answering documents, in case they are among them.
  for (const std::size_t index : draw_indices(random, input.corpus.size(), count + golds.size())) {
    const std::string& id = input.corpus[index].id;
    if (out.size() < count && std::find(golds.begin(), golds.end(), id) == golds.end()) out.push_back(index);
  }
  if (out.size() == count) return out;
  return Error{ErrorCode::kInvalidArgument, std::string(attack) + ": the corpus has fewer than " +
                                                std::to_string(count) +
                                                " documents beside the one that answers the query"};
}

std::string attack_document_id(std::string_view attack, std::size_t number) {
  return kAttackIdPrefix + std::string(attack) + "/" + std::to_string(number);
}

std::string number_text(double value) {
  char buffer[32];
  const auto done = std::to_chars(buffer, buffer + sizeof buffer, value);
  return {buffer, done.ptr};
}

}  // namespace casemate
