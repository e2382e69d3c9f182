// casemate/text/answer_match.h
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace casemate {

/// SQuAD 1.1's normal form: lower case, no ASCII punctuation, no articles (a, an, the), single blanks. Invalid UTF-8
/// reads as U+FFFD.
[[nodiscard]] std::string normalize_answer(std::string_view text);

/// The words of `normalize_answer`.
[[nodiscard]] std::vector<std::string> answer_words(std::string_view text);

/// 1 where the normal forms are equal, else 0 (Rajpurkar et al. 2016).
[[nodiscard]] double exact_match(std::string_view prediction, std::string_view reference);

/// Token F1 of the normal forms, in [0, 1], by the rule of SQuAD 1.1: no common word gives 0, also for two empty texts.
[[nodiscard]] double token_f1(std::string_view prediction, std::string_view reference);

/// True where the normal form of `part` stands in that of `text`, whole words only; false for an empty `part`.
[[nodiscard]] bool contains_answer(std::string_view text, std::string_view part);

/// True where an answer declines: it is blank or contains "I don't", case and form of the apostrophe apart (RobustRAG).
[[nodiscard]] bool is_abstention(std::string_view answer);

}  // namespace casemate
