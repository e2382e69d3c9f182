// Any bytes as JSONL, CSV, TSV, SQuAD or text (by the first byte): documents that keep the contract, or problems with
// the file's name.
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "casemate/formats/reader.h"
#include "casemate/formats/squad.h"
#include "fuzz_support.h"

namespace {

using namespace casemate;

class CheckingSink final : public DocumentSink {
 public:
  CheckingSink(std::string path, std::size_t file_bytes) : path_(std::move(path)), file_bytes_(file_bytes) {}
  Status document(Document document) override {
    const std::string& text = document.text.bytes();
    fuzz::require(fuzz::is_valid_utf8(text), "the text is valid UTF-8");
    fuzz::require(text.find_first_not_of(" \t\n") != std::string::npos, "the text is not blank");
    fuzz::require(!document.id.empty(), "a document has an id");
    fuzz::require(document.record.begin <= document.record.end && document.record.end <= file_bytes_,
                  "the record lies in the file");
    // Bytes of a decoded field are at most those of the file.
    fuzz::require_sound(document.offsets, text.size(), file_bytes_);
    return {};
  }
  void problem(const InputProblem& problem) override {
    fuzz::require(problem.error.message.starts_with(path_), "a problem begins with the path");
  }

 private:
  std::string path_;
  std::size_t file_bytes_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  static constexpr Format kFormats[] = {Format::kJsonl, Format::kCsv, Format::kTsv, Format::kSquad, Format::kText};
  static const std::string path =
      std::filesystem::temp_directory_path().string() + "/casemate-fuzz-" + std::to_string(::getpid());
  std::ofstream(path, std::ios::binary | std::ios::trunc) << fuzz::as_text(data + 1, size - 1);
  ReadOptions options;
  options.format = kFormats[data[0] % std::size(kFormats)];
  options.generate_ids = (data[0] & 0x80U) != 0;
  options.csv.has_header = (data[0] & 0x40U) == 0;
  options.limits.max_record_bytes = 4096;
  CheckingSink sink(path, size - 1);
  (void)read_path(path, options, sink);
  if (options.format == Format::kSquad) (void)read_squad_questions(path, options.limits);
  std::filesystem::remove(path);
  return 0;
}
