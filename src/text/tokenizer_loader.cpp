#include "casemate/text/tokenizer_loader.h"

#include <nlohmann/json.hpp>

#include "casemate/core/file_system.h"
#include "casemate/text/wordpiece_tokenizer.h"

namespace casemate {
namespace {

using nlohmann::json;

constexpr std::uint64_t kMaxTokenizerBytes = 200'000'000;

Result<std::unique_ptr<Tokenizer>> load_vocabulary_file(const std::string& folder, const std::string& text) {
  std::vector<std::string> pieces;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = text.find('\n', at);
    if (end == std::string::npos) end = text.size();
    std::string line = text.substr(at, end - at);
    if (!line.empty() && line.back() == '\r') line.pop_back();
    pieces.push_back(std::move(line));
    at = end + 1;
  }
  WordPieceOptions options;
  const auto settings_text = read_file(join_path(folder, "tokenizer_config.json"), kMaxTokenizerBytes);
  if (settings_text) {
    const json settings = json::parse(*settings_text, nullptr, false);
    if (settings.is_object() && settings.contains("do_lower_case") && settings["do_lower_case"].is_boolean()) {
      options.lowercase = settings["do_lower_case"].get<bool>();
      options.strip_accents = options.lowercase;
    }
  }
  return create_wordpiece_tokenizer(std::move(pieces), options);
}

}  // namespace

Result<std::unique_ptr<Tokenizer>> load_tokenizer(const std::string& folder) {
  const std::string path = join_path(folder, "tokenizer.json");
  auto text = read_file(path, kMaxTokenizerBytes);
  if (text) {
    auto tokenizer = parse_tokenizer_json(*text);
    if (!tokenizer) return tokenizer.error().in(folder);
    return tokenizer;
  }
  if (text.error().code != ErrorCode::kNotFound) return text.error();
  auto vocabulary = read_file(join_path(folder, "vocab.txt"), kMaxTokenizerBytes);
  if (vocabulary) return load_vocabulary_file(folder, *vocabulary);
  if (vocabulary.error().code != ErrorCode::kNotFound) return vocabulary.error();
  return Error{ErrorCode::kNotFound, folder +
                                         ": neither tokenizer.json nor vocab.txt is there (save the tokenizer with its "
                                         "fast version once to get tokenizer.json)"};
}

}  // namespace casemate
