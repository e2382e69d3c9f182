#include "casemate/eval/answer_set.h"

#include <algorithm>

#include "casemate/core/nearest_name.h"
#include "casemate/eval/data_set.h"
#include "eval/data/answer_sources.h"

namespace casemate {
namespace {

struct Source {
  std::string_view name;
  Status (*load)(const std::string& path, const AnswerSetOptions& options, AnswerSet& out);
};

/// Formats with a reader of their own; all others are read as corpora with questions.
constexpr Source kSources[] = {
    {"jsonl", load_jsonl_answers}, {"musique", load_musique_answers}, {"realtimeqa", load_realtimeqa_answers}};

const Source* find_source(std::string_view format) {
  const auto* found =
      std::find_if(std::begin(kSources), std::end(kSources), [&](const Source& each) { return each.name == format; });
  return found == std::end(kSources) ? nullptr : found;
}

}  // namespace

std::vector<std::string_view> answer_formats() {
  std::vector<std::string_view> out;
  for (const Source& each : kSources) out.push_back(each.name);
  for (const DataFormat& each : data_formats()) {
    if (each.passages && each.questions && find_source(each.name) == nullptr) out.push_back(each.name);
  }
  std::sort(out.begin(), out.end());
  return out;
}

Status check_answer_format(std::string_view format) {
  const std::vector<std::string_view> known = answer_formats();
  if (std::find(known.begin(), known.end(), format) != known.end()) return {};
  const std::string name = "\"" + UntrustedText(std::string(format)).for_log(60) + "\"";
  if (const auto other = find_data_format(format)) {
    return Error{ErrorCode::kInvalidOption,
                 name + " holds no " + (other->questions ? "passages" : "questions") +
                     ", and answers are measured on questions that come with passages; kind: reading retrieves them "
                     "from another corpus"};
  }
  return Error{ErrorCode::kInvalidOption, name + " is no format of questions with passages" + name_hint(format, known)};
}

Result<AnswerSet> load_answer_set(std::string_view format, const std::string& path, const AnswerSetOptions& options) {
  if (Status known = check_answer_format(format); !known) return known.error();
  if (options.passages < 1 || options.passages > 64)
    return Error{ErrorCode::kInvalidOption, "passages of a question must be in 1 to 64"};
  AnswerSet out;
  out.path = path;
  const Source* source = find_source(format);
  const Status loaded = source != nullptr ? source->load(path, options, out)
                                          : load_corpus_answers(std::string(format), path, options, out);
  if (!loaded) return loaded.error();
  if (out.items.empty()) {
    return Error{ErrorCode::kInvalidInput, UntrustedText(path).for_log() + ": no whole question in it" +
                                               (out.broken.empty() ? "" : " (" + out.broken.front() + ")")};
  }
  return out;
}

}  // namespace casemate
