#include "eval/passage_reader.h"

#include <algorithm>

#include "casemate/core/nearest_name.h"
#include "casemate/eval/span_reader.h"

namespace casemate {
namespace {

constexpr char kSpan[] = "span";
constexpr std::string_view kBehind = " > ";

/// What "a > b" names: the sanitizer, or nothing, and the method.
std::pair<std::string, std::string> parts_of(const std::string& name) {
  const std::size_t at = name.find(kBehind);
  if (at == std::string::npos) return {"", name};
  return {name.substr(0, at), name.substr(at + kBehind.size())};
}

Error no_passage() { return {ErrorCode::kInvalidInput, "there is no passage to read"}; }

Result<Reading> said(Result<GreedyAnswer> made) {
  if (!made) return made.error();
  Reading out;
  out.text = std::move(made->text);
  out.finish = made->finish;
  out.generated_tokens = made->generated_tokens;
  return out;
}

}  // namespace

bool sanitizes(const Experiment& experiment) {
  return std::any_of(experiment.methods.begin(), experiment.methods.end(),
                     [](const std::string& name) { return name.find(kBehind) != std::string::npos; });
}

Result<PassageReader> PassageReader::create(const std::string& name, LanguageModel& model, const Reranker* reranker) {
  PassageReader out;
  out.name_ = name;
  out.model_ = &model;
  const auto [sanitizer, method] = parts_of(name);
  if (method != kSpan) {
    auto parsed = parse_answer_method(method);
    if (!parsed) return parsed.error();
    if (parsed->task != AnswerTask::kShortAnswer)
      return Error{ErrorCode::kInvalidOption, "\"" + method + "\": questions about a corpus have short answers"};
    out.method_ = *std::move(parsed);
  }
  if (!sanitizer.empty()) {
    const auto choice = parse_sanitizer(sanitizer);
    if (!choice) return choice.error();
    if (choice->name == "prompt-hardening" || !out.method_) {
      return Error{ErrorCode::kUnsupported,
                   "\"" + name + "\": " +
                       (out.method_ ? "prompt-hardening works by the generator's instructions, "
                                      "which these prompts do not have"
                                    : "a span of a passage cannot be read behind a sanitizer")};
    }
    auto made = create_sanitizer(*choice, SanitizerServices{&model, nullptr, reranker});
    if (!made) return made.error();
    out.sanitizer_ = *std::move(made);
  }
  auto robust = RobustParts::create();
  if (!robust) return robust.error();
  out.robust_ = *std::move(robust);
  return out;
}

Result<Reading> PassageReader::read(const UntrustedText& question, std::span<const PromptPassage> passages,
                                    const std::stop_token& stop) {
  if (!sanitizer_) return read_shown(question, passages, stop);
  // Nothing was retrieved: what a sanitizer makes of nothing would look like an answer.
  if (passages.empty() && !(method_ && method_->no_retrieval)) return no_passage();
  std::vector<ContextPassage> context;
  for (const PromptPassage& each : passages) context.push_back({each.title, each.text});
  auto shown = sanitizer_->sanitize(question, context, stop);
  if (!shown) return shown.error();
  const double all = static_cast<double>(std::max<std::size_t>(shown->record.context_characters, 1));
  const double disclosed = static_cast<double>(shown->record.disclosed_characters) / all;
  Reading out;
  out.disclosed = disclosed;
  if (shown->answer) {
    out.text = *std::move(shown->answer);
    return out;
  }
  if (shown->closed_book) {
    auto closed = said(answer_prompt(*model_, no_retrieval_prompt(Question{question}), method_->robust.max_new_tokens,
                                     stop, robust_.answers()));
    if (closed) closed->disclosed = 0;
    return closed;
  }
  if (shown->passages.empty()) {
    out.text = UntrustedText(std::string(abstention_text()));
    return out;
  }
  std::vector<PromptPassage> left;
  for (SanitizedPassage& each : shown->passages) left.push_back({std::move(each.title), std::move(each.text)});
  auto read = read_shown(question, left, stop);
  if (read) read->disclosed = disclosed;
  return read;
}

Result<Reading> PassageReader::read_shown(const UntrustedText& question, std::span<const PromptPassage> passages,
                                          const std::stop_token& stop) {
  const bool alone = method_ && method_->no_retrieval;
  if (passages.empty() && !alone) return no_passage();
  Reading out;
  if (!method_) {
    auto span = read_span(*model_, question, passages.front(), 16, stop);
    if (!span) return span.error();
    out.text = std::move(span->text);
    out.generated_tokens = span->generated_tokens;
    return out;
  }
  const Question asked{question};
  const RobustOptions robust = robust_.into(method_->robust);
  if (!method_->aggregates()) {
    const Prompt prompt = alone ? no_retrieval_prompt(asked) : all_passages_prompt(asked, passages);
    auto read = said(answer_prompt(*model_, prompt, robust.max_new_tokens, stop, robust_.answers()));
    if (read && alone) read->disclosed = 0;
    return read;
  }
  auto made = answer_robustly(*model_, asked, passages, robust, stop);
  if (!made) return made.error();
  out.text = std::move(made->text);
  out.finish = made->finish;
  out.generated_tokens = made->generated_tokens;
  out.groups = std::move(made->groups);
  return out;
}

}  // namespace casemate
