// src/attack/words.h
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "casemate/attack/attack.h"
#include "casemate/core/random.h"

namespace casemate {

/// A text's words, split at ASCII white space, as [begin, end) bytes.
struct BlankSeparatedWord {
  std::size_t begin = 0;
  std::size_t end = 0;
};
[[nodiscard]] std::vector<BlankSeparatedWord> blank_separated_words(std::string_view text);

/// Code points of `text`; a broken sequence counts as one.
[[nodiscard]] std::size_t count_characters(std::string_view text);
/// Bytes [begin, end) of `text` in characters.
[[nodiscard]] CharacterSpan in_characters(std::string_view text, std::size_t begin, std::size_t end);

/// `count` different indices below `bound` in a random order; all of them where `count` is larger.
[[nodiscard]] std::vector<std::size_t> draw_indices(RandomStream& random, std::size_t bound, std::size_t count);

/// `count` passages that answer none of `golds`, different ones, for the query or group of queries `name`: the same
/// under one seed for every attack that alters irrelevant documents. Error: InvalidArgument, beginning with `attack`,
/// where there are fewer.
[[nodiscard]] Result<std::vector<std::size_t>> draw_irrelevant(const AttackInput& input, std::string_view attack,
                                                               std::string_view name,
                                                               std::span<const std::string> golds, std::size_t count);

/// "casemate-attack/<attack>/<number>".
[[nodiscard]] std::string attack_document_id(std::string_view attack, std::size_t number);

/// The shortest form of a number: "0.05".
[[nodiscard]] std::string number_text(double value);

}  // namespace casemate
