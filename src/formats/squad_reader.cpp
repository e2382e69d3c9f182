#include <algorithm>
#include <span>
#include <string>
#include <unordered_set>
#include <utility>

#include "casemate/core/hash.h"
#include "casemate/formats/squad.h"
#include "formats/json_value.h"
#include "formats/readers.h"
#include "formats/zip_entry.h"

namespace casemate {
namespace {

using nlohmann::json;

/// A parsed SQuAD file is about ten times as large in memory as on disk.
constexpr std::uint64_t kMaxJsonBytes = UINT64_C(256) << 20U;

Result<std::string> load_text(const std::string& path, const InputFile& file, const ReadLimits& limits) {
  const std::uint64_t most = std::min(limits.max_file_bytes, kMaxJsonBytes);
  const auto head = file.head(4);
  if (!head) return head.error();
  if (!head->starts_with("PK\x03\x04")) return file.read_all(most);
  auto text = read_zip_entry(
      path, [](std::string_view name) { return name.ends_with(".json") && !name.starts_with("__MACOSX/"); },
      {std::min(limits.max_unzipped_bytes, most), limits.max_zip_ratio});
  if (text) return text;
  if (text.error().code == ErrorCode::kNotFound) {
    return Error{ErrorCode::kUnsupported,
                 at_place(path, 0, "is a zip file without a .json in it; only a SQuAD JSON in a zip is read")};
  }
  return text.error().in(shown_path(path));
}

Result<json> load(const std::string& path, const InputFile& file, const ReadLimits& limits) {
  auto text = load_text(path, file, limits);
  if (!text) return text.error();
  std::string_view body = *text;
  if (body.starts_with("\xEF\xBB\xBF")) body.remove_prefix(3);
  auto root = parse_json(body, limits.max_nesting);
  if (!root) return root.error().in(shown_path(path));
  if (!root->is_object() || !root->contains("data") || !(*root)["data"].is_array()) {
    return Error{ErrorCode::kUnsupported, at_place(path, 0,
                                                   "is JSON, but not SQuAD ({\"data\": [{\"title\", \"paragraphs\": "
                                                   "[...]}]}); other records are read as JSONL, one object a line")};
  }
  return root;
}

std::string string_in(const json& object, const char* name) {
  if (!object.is_object()) return {};
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

const json& array_in(const json& object, const char* name) {
  static const json kEmpty = json::array();
  if (!object.is_object()) return kEmpty;
  const auto found = object.find(name);
  return found != object.end() && found->is_array() ? *found : kEmpty;
}

std::string place(std::size_t article, std::size_t paragraph) {
  return "data[" + std::to_string(article) + "].paragraphs[" + std::to_string(paragraph) + "]";
}

/// Calls visit(article, paragraph, place) for each paragraph, until it gives an error.
template <typename Visit>
Status for_each_paragraph(const json& root, Visit visit) {
  const json& articles = array_in(root, "data");
  for (std::size_t i = 0; i < articles.size(); ++i) {
    const json& paragraphs = array_in(articles[i], "paragraphs");
    for (std::size_t j = 0; j < paragraphs.size(); ++j) {
      if (const Status visited = visit(articles[i], paragraphs[j], place(i, j)); !visited) return visited;
    }
  }
  return {};
}

}  // namespace

std::string squad_passage_id(std::string_view context) {
  const Digest digest = blake2b(context);
  return "squad-" + to_hex(std::span(digest).first(8));
}

Status read_squad(const Source& source, ReadContext& context) {
  const auto root = load(source.path, source.file, context.limits());
  if (!root) return context.problem(source.path, root.error()), Status{};
  std::unordered_set<std::string> seen;  // the same paragraph twice in one file is one passage, not a problem
  std::size_t paragraphs = 0;
  const Status read =
      for_each_paragraph(*root, [&](const json& article, const json& paragraph, const std::string& where) -> Status {
        ++paragraphs;
        const std::string text = string_in(paragraph, "context");
        if (text.empty()) {
          context.problem(source.path, 0, ErrorCode::kInvalidInput,
                          where + ": field \"context\" is missing or not text");
          return {};
        }
        Document document = new_document(source, Format::kSquad);
        document.id = squad_passage_id(text);
        document.root.clear();
        if (!seen.insert(document.id).second) return {};
        document.source_unit = SourceUnit::kFieldBytes;
        document.one_passage = true;
        document.title = cleaned_title(string_in(article, "title"), document);
        set_text(document, text);
        return context.emit(std::move(document));
      });
  if (read.ok() && paragraphs == 0)
    context.problem(source.path, 0, ErrorCode::kInvalidInput, "there are no paragraphs in it");
  return read;
}

Result<SquadQuestions> read_squad_questions(const std::string& path, const ReadLimits& limits) {
  try {
    const auto file = InputFile::open(path, shown_path(path));
    if (!file) return file.error();
    const auto root = load(path, *file, limits);
    if (!root) return root.error();
    SquadQuestions out;
    const Status read =
        for_each_paragraph(*root, [&](const json&, const json& paragraph, const std::string& where) -> Status {
          const std::string text = string_in(paragraph, "context");
          const json& records = array_in(paragraph, "qas");
          for (std::size_t i = 0; i < records.size(); ++i) {
            SquadQuestion question;
            question.id = string_in(records[i], "id");
            question.question = UntrustedText(string_in(records[i], "question"));
            if (text.empty() || question.id.empty() || question.question.empty()) {
              out.problems.push_back({path, 0,
                                      Error{ErrorCode::kInvalidInput,
                                            at_place(path, 0,
                                                     where + ".qas[" + std::to_string(i) +
                                                         "]: \"id\", \"question\" or the \"context\" is missing")}});
              continue;
            }
            question.gold_passage_id = squad_passage_id(text);
            for (const json& answer : array_in(records[i], "answers"))
              question.answers.emplace_back(string_in(answer, "text"));
            out.questions.push_back(std::move(question));
          }
          return {};
        });
    if (!read) return read.error();
    return out;
  } catch (const std::exception& error) {
    return Error{ErrorCode::kIo, at_place(path, 0, UntrustedText(error.what()).for_log())};
  }
}

}  // namespace casemate
