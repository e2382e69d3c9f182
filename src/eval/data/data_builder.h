// eval/data/data_builder.h
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "casemate/eval/data_set.h"

namespace casemate {

/// Fills a data set row by row and gives each broken row its result: left out, counted, and named by its place.
class DataBuilder {
 public:
  explicit DataBuilder(DataSet& data) : data_(data) {}

  /// `where` is "file:line" or "file: record 3". Blank texts, empty ids and ids that stood before are broken.
  void passage(CorpusPassage passage, const std::string& where);
  /// As above for questions; `gold` by grade may be empty where the format has none.
  void question(AttackTarget question, Judgements gold, const std::string& where);
  void broken(const std::string& where, const std::string& why);
  /// A place without its own words.
  [[nodiscard]] static std::string place(const std::string& path, std::size_t record);

  /// Leaves out judgements of documents that are not in the corpus, and questions that have none left; their first best
  /// document becomes `gold_document`. Call once, when passages and questions are in.
  void settle_gold();

 private:
  DataSet& data_;
  std::set<std::string, std::less<>> passage_ids_;
  std::set<std::string, std::less<>> question_ids_;
};

/// The whole of a JSON file. Error: InvalidInput with the path; what `read_file` says.
[[nodiscard]] Result<nlohmann::json> read_json_file(const std::string& path);

/// Records of a JSON file that is an array, or an object whose values are the records (their keys are then handed on).
/// take(record, key, where) gives what is wrong with a record, or nothing. Error: InvalidInput where the file is
/// neither; what `read_file` and the parser say, with the path.
using TakeRecord =
    std::function<std::string(const nlohmann::json& record, const std::string& key, const std::string& where)>;
[[nodiscard]] Status each_json_record(const std::string& path, DataBuilder& builder, const TakeRecord& take);
/// The same for JSON lines; a line that is no JSON object is broken and left out.
[[nodiscard]] Status each_json_row(const std::string& path, DataBuilder& builder, const TakeRecord& take);

/// A field of a record as text; `problem` says where it is something else, and is left as it is where it is absent.
[[nodiscard]] std::string text_field(const nlohmann::json& record, const char* field, std::string& problem);
/// One text or a list of them.
[[nodiscard]] std::vector<UntrustedText> text_list(const nlohmann::json& record, const char* field,
                                                   std::string& problem);
/// `prefix`-16 hexadecimal digits of a hash of the texts: the same texts have the same id in any file.
[[nodiscard]] std::string content_id(std::string_view prefix, std::string_view title, std::string_view text);

// One function a format; each fills passages, questions, or both. Error: as `load_data_set`.
[[nodiscard]] Status load_squad(const std::string& path, DataSet& data);
[[nodiscard]] Status load_beir(const std::string& path, DataSet& data);
[[nodiscard]] Status load_bipia(const std::string& path, DataSet& data);
[[nodiscard]] Status load_chatdoctor(const std::string& path, DataSet& data);
[[nodiscard]] Status load_folder(const std::string& path, DataSet& data);
[[nodiscard]] Status load_musique(const std::string& path, DataSet& data);
[[nodiscard]] Status load_nq_open(const std::string& path, DataSet& data);
[[nodiscard]] Status load_poisonedrag(const std::string& path, DataSet& data);
[[nodiscard]] Status load_webquestions(const std::string& path, DataSet& data);
[[nodiscard]] Status load_wikitext(const std::string& path, DataSet& data);

}  // namespace casemate
