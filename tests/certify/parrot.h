// A model that repeats its passage, and questions for it.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "casemate/generate/robust_rag.h"
#include "testing/scripted_llm.h"

namespace casemate::test {

// Passages are single words; a group answers with its passage's word, "none" declines. The second prompt answers with
// the first hint.
inline const std::vector<std::string> kWords = {"red", "green", "blue"};

inline std::unique_ptr<testing::ScriptedLlm> parrot(double confidence = .9) {
  testing::ScriptedLlmOptions options;
  options.vocabulary = {"red", "green", "blue", "A", "B", "C", "I don't know"};
  for (const std::string& word : kWords) options.answers.push_back({"Hints: " + word, word});
  options.answers.push_back({"Passage: none\n\nQuestion: colour", "I don't know"});
  for (std::size_t i = 0; i < kWords.size(); ++i) {
    options.answers.push_back({"Passage: " + kWords[i] + "\n\nQuestion: colour?\nAnswer:", kWords[i]});
    options.answers.push_back({"Passage: " + kWords[i] + "\n\nQuestion: colour?\nA.", std::string(1, "ABC"[i])});
  }
  options.answers.push_back({"", "I don't know"});
  options.confidence = confidence;
  return testing::ScriptedLlm::create(std::move(options)).value();
}

inline Question colour(Aggregation method) {
  Question question;
  question.text = UntrustedText("colour?");
  if (method == Aggregation::kVoting) {
    question.task = AnswerTask::kMultipleChoice;
    for (const std::string& word : kWords) question.options.emplace_back(word);
  }
  return question;
}

inline RobustOptions options_of(Aggregation method, const Question& question) {
  RobustOptions options = robust_options(method, question.task);
  options.max_new_tokens = 3;
  options.keywords = [](const std::string& answer) { return std::set<std::string>{answer}; };
  options.trace = true;
  return options;
}

inline std::vector<PromptPassage> passages_of(const std::vector<std::string>& texts) {
  std::vector<PromptPassage> out;
  for (const std::string& text : texts) out.push_back({UntrustedText(), UntrustedText(text)});
  return out;
}

}  // namespace casemate::test
