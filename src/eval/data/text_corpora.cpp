// Plain texts: WikiText, and a folder of files with questions.jsonl.
#include <algorithm>
#include <filesystem>
#include <optional>

#include "casemate/core/file_system.h"
#include "casemate/formats/reader.h"
#include "eval/data/data_builder.h"
#include "eval/numbered_lines.h"
#include "eval/trimmed.h"

namespace casemate {
namespace {

using nlohmann::json;

/// Characters from which a file of a folder is cut into pieces between its paragraphs.
constexpr std::size_t kPieceBytes = 1500;
constexpr std::size_t kWordsOfAPassage = 8;
constexpr char kQuestions[] = "questions.jsonl";

/// "= Title =" is an article, "= = Section = =" a part of one: how deep, and the text between.
std::optional<std::pair<int, std::string>> heading(std::string_view line) {
  int depth = 0;
  while (line.size() >= 2 && line.front() == '=' && line.back() == '=') {
    line = trimmed(line.substr(1, line.size() - 2));
    ++depth;
  }
  if (depth == 0 || line.empty()) return std::nullopt;
  return std::pair(depth, std::string(line));
}

std::vector<std::string> pieces_of(const std::string& text) {
  std::vector<std::string> out;
  std::string piece;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = text.find("\n\n", at);
    end = end == std::string::npos ? text.size() : end + 2;
    if (!piece.empty() && piece.size() + (end - at) > kPieceBytes) {
      out.push_back(std::move(piece));
      piece.clear();
    }
    piece.append(text, at, end - at);
    at = end;
  }
  if (trimmed(piece).empty() && !out.empty()) return out;
  out.push_back(std::move(piece));
  return out;
}

class FolderSink final : public DocumentSink {
 public:
  FolderSink(DataBuilder& builder, std::map<std::string, Judgements>& pieces) : builder_(builder), pieces_(pieces) {}
  Status document(Document document) override {
    const std::vector<std::string> pieces = pieces_of(document.text.bytes());
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      const std::string id = i == 0 ? document.id : document.id + "#" + std::to_string(i + 1);
      pieces_[document.id][id] = 1;
      builder_.passage({id, document.title, UntrustedText(pieces[i])}, UntrustedText(document.id).for_log());
    }
    return {};
  }
  void problem(const InputProblem& problem) override {
    // The questions are no documents.
    if (!problem.path.ends_with(kQuestions)) builder_.broken("", problem.error.message);
  }

 private:
  DataBuilder& builder_;
  std::map<std::string, Judgements>& pieces_;
};

}  // namespace

Status load_wikitext(const std::string& path, DataSet& data) {
  const auto content = read_file(path, UINT64_C(4) << 30U);
  if (!content) return content.error();
  DataBuilder builder(data);
  std::string article;
  std::string section;
  const std::string shown = UntrustedText(path).for_log();
  const Status read =
      each_numbered_line(*content, shown, [&](std::string_view line, std::size_t number) -> std::string {
        const std::string_view text = trimmed(line);
        if (text.empty()) return {};
        if (const auto found = heading(text)) {
          if (found->first == 1) article = found->second;
          section = found->first == 1 ? "" : ", " + found->second;
          return {};
        }
        // Captions and lone words answer nothing.
        if (static_cast<std::size_t>(std::count(text.begin(), text.end(), ' ')) + 1 < kWordsOfAPassage) return {};
        builder.passage(
            {"wikitext-" + std::to_string(number), UntrustedText(article + section), UntrustedText(std::string(text))},
            shown + ":" + std::to_string(number));
        return {};
      });
  data.index_passages = true;
  return read;
}

Status load_folder(const std::string& path, DataSet& data) {
  DataBuilder builder(data);
  std::map<std::string, Judgements> pieces;
  FolderSink sink(builder, pieces);
  const auto names = FileSystem::posix().list(path);
  if (!names) return names.error();
  ReadOptions options;
  if (const auto read = read_path(path, options, sink); !read) return read.error();
  // A reader of JSON lines takes questions with "id" and "text" for documents.
  std::erase_if(data.passages, [](const CorpusPassage& passage) { return passage.id.starts_with(kQuestions); });
  const std::string questions = join_path(path, kQuestions);
  if (!FileSystem::posix().info(questions)) {
    return Error{ErrorCode::kInvalidInput, UntrustedText(questions).for_log() +
                                               ": there are no questions; write one a line: {\"question\": .., "
                                               "\"document\": \"path of the file that answers\", \"answers\": [..]}"};
  }
  bool any_gold = false;
  Status read =
      each_json_row(questions, builder, [&](const json& record, const std::string& line, const std::string& where) {
        std::string problem;
        AttackTarget question;
        question.query_id = text_field(record, "id", problem);
        if (question.query_id.empty()) question.query_id = "q" + line;
        question.query = UntrustedText(text_field(record, "question", problem));
        question.answers = text_list(record, "answers", problem);
        question.wrong_answer = UntrustedText(text_field(record, "wrong_answer", problem));
        const std::string document = text_field(record, "document", problem);
        if (!problem.empty()) return problem;
        const auto found = pieces.find(document);
        if (!document.empty() && found == pieces.end())
          return "\"document\" names no file of the folder: " + UntrustedText(document).for_log(80);
        any_gold = any_gold || !document.empty();
        builder.question(std::move(question), found == pieces.end() ? Judgements() : found->second, where);
        return problem;
      });
  if (!read) return read;
  data.has_gold = any_gold;
  if (any_gold) builder.settle_gold();
  data.index_passages = true;
  return {};
}

}  // namespace casemate
