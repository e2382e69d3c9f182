#include "casemate/text/keywords.h"

#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "command.h"

namespace casemate::cli {
namespace {

using Json = nlohmann::ordered_json;

struct KeywordsChoice {
  std::string input = "-";
  bool jsonl = false;
  bool all = false;
  bool strict = false;
};

/// The keywords of one text. ASCII only, so that no text reaches the terminal as it is.
std::string line_of(const KeywordExtractor& extractor, const std::string& text, const Json& id, bool all) {
  const TaggedText tagged = extractor.tag(text);
  Json out = {{"id", id}, {"text", text}, {"method", keyword_method_name(tagged.method)}};
  for (const char* field : {"tokens", "offsets", "pos", "tags", "lemmas", "keywords"}) out[field] = Json::array();
  for (const TaggedToken& token : tagged.tokens) {
    out["tokens"].push_back(text.substr(token.span.begin, token.span.size()));
    out["offsets"].push_back({token.span.begin, token.span.end});
    out["pos"].push_back(part_of_speech_name(token.part_of_speech));
    out["tags"].push_back(token.tag);
    out["lemmas"].push_back(token.lemma);
  }
  for (const std::string& keyword : KeywordExtractor::extract(text, tagged).keywords) {
    if (all || !is_stop_or_punctuation(keyword)) out["keywords"].push_back(keyword);
  }
  return out.dump(-1, ' ', true, Json::error_handler_t::replace);
}

int run(Context& context, const KeywordsChoice& choice) {
  std::ifstream file;
  if (choice.input != "-") {
    std::error_code ignored;
    if (std::filesystem::is_directory(choice.input, ignored))
      return context.fail({ErrorCode::kInvalidInput, choice.input + ": is a folder; keywords reads one file"});
    file.open(choice.input, std::ios::binary);
    if (!file) return context.fail({ErrorCode::kNotFound, choice.input + ": cannot be opened"});
  }
  std::istream& input = choice.input == "-" ? std::cin : file;
  const bool jsonl = choice.jsonl || choice.input.ends_with(".jsonl");
  const auto extractor = KeywordExtractor::create();
  if (!extractor) return context.fail(extractor.error());
  int code = kDone;
  std::string line;
  for (std::size_t number = 1; std::getline(input, line); ++number) {
    if (context.stop.stop_requested()) return kInterrupted;
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (!jsonl) {
      std::cout << line_of(**extractor, line, number, choice.all) << '\n';
      continue;
    }
    if (line.find_first_not_of(" \t") == std::string::npos) continue;
    const Json entry = Json::parse(line, nullptr, false);
    if (entry.is_object() && entry.contains("text") && entry["text"].is_string()) {
      const Json id = entry.contains("id") ? entry["id"] : entry.contains("_id") ? entry["_id"] : Json(number);
      std::cout << line_of(**extractor, entry["text"].get<std::string>(), id, choice.all) << '\n';
      continue;
    }
    code = context.fail({ErrorCode::kInvalidInput,
                         choice.input + ":" + std::to_string(number) + ": " +
                             (entry.is_discarded() ? "is not JSON" : "field \"text\" is missing or not a string")});
    if (choice.strict) return code;
  }
  if (input.bad()) return context.fail({ErrorCode::kIo, choice.input + ": cannot be read to its end"});
  return code;
}

}  // namespace

std::function<int()> set_up_keywords(CLI::App& app, Context& context) {
  auto choice = std::make_shared<KeywordsChoice>();
  app.add_option("input", choice->input,
                 "file with one text a line, or JSON lines with \"text\" (--jsonl, or a name that ends in .jsonl); - "
                 "is standard input")
      ->capture_default_str();
  app.add_flag("--jsonl", choice->jsonl, "the input is JSON lines with \"text\" and, if wanted, \"id\"");
  app.add_flag("--all", choice->all, "keep stop words and punctuation among the keywords");
  app.add_flag("--strict", choice->strict, "stop at the first bad line");
  return [choice, &context] { return run(context, *choice); };
}

}  // namespace casemate::cli
