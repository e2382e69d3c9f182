#include "casemate/attack/craft_cache.h"

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>

#include "casemate/core/file_system.h"

namespace casemate {
namespace {

using Values = std::map<std::string, std::string, std::less<>>;

struct Closer {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Closer>;

class FileCraftCache final : public CraftCache {
 public:
  FileCraftCache(std::string path, File file, Values values)
      : path_(std::move(path)), file_(std::move(file)), values_(std::move(values)) {}

  std::optional<std::string> find(std::string_view key) const override {
    const std::lock_guard lock(mutex_);
    const auto it = values_.find(key);
    return it == values_.end() ? std::nullopt : std::optional(it->second);
  }

  Status put(std::string_view key, std::string_view value) override {
    const std::string line = nlohmann::ordered_json{{"key", key}, {"value", value}}.dump() + "\n";
    const std::lock_guard lock(mutex_);
    errno = 0;
    if (std::fwrite(line.data(), 1, line.size(), file_.get()) != line.size() || std::fflush(file_.get()) != 0)
      return io_error(errno, "write", path_);
    values_.insert_or_assign(std::string(key), std::string(value));
    return {};
  }

 private:
  std::string path_;
  File file_;
  Values values_;
  mutable std::mutex mutex_;
};

}  // namespace

Result<std::unique_ptr<CraftCache>> open_craft_cache(const std::string& path) {
  Values values;
  std::string text;
  if (auto read = read_file(path); read) {
    text = *std::move(read);
  } else if (read.error().code != ErrorCode::kNotFound) {
    return read.error();
  }
  const std::size_t whole = text.rfind('\n') == std::string::npos ? 0 : text.rfind('\n') + 1;
  std::size_t number = 0;
  for (std::size_t at = 0; at < whole;) {
    const std::size_t end = text.find('\n', at);
    ++number;
    const auto line = nlohmann::json::parse(text.begin() + static_cast<std::ptrdiff_t>(at),
                                            text.begin() + static_cast<std::ptrdiff_t>(end), nullptr, false);
    at = end + 1;
    const auto is_text = [&line](const char* field) {
      return line.is_object() && line.contains(field) && line[field].is_string();
    };
    if (!is_text("key") || !is_text("value")) {
      return Error{ErrorCode::kInvalidInput,
                   path + ":" + std::to_string(number) + ": is no line of crafted work; remove the file to craft anew"};
    }
    values.insert_or_assign(line["key"].get<std::string>(), line["value"].get<std::string>());
  }
  if (whole < text.size()) {
    std::error_code error;
    std::filesystem::resize_file(path, whole, error);
    if (error) return io_error(error.value(), "cut", path);
  }
  errno = 0;
  File file(std::fopen(path.c_str(), "ab"));
  if (!file) return io_error(errno, "open", path);
  return std::unique_ptr<CraftCache>(std::make_unique<FileCraftCache>(path, std::move(file), std::move(values)));
}

}  // namespace casemate
