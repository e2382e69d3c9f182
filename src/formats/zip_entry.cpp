#include "formats/zip_entry.h"

#include <zip.h>

#include <array>
#include <memory>

#include "casemate/core/untrusted_text.h"

namespace casemate {
namespace {

constexpr std::int64_t kMaxEntries = 100'000;
constexpr std::uint64_t kAlwaysAllowed = UINT64_C(1) << 20U;

struct Discard {
  void operator()(zip_t* archive) const { zip_discard(archive); }
  void operator()(zip_file_t* file) const { zip_fclose(file); }
};

Error broken(std::string_view what) {
  return {ErrorCode::kInvalidInput, "is a broken zip file: " + UntrustedText(std::string(what)).for_log()};
}

Result<std::string> unpack_entry(zip_t* archive, const zip_stat_t& entry, const ZipLimits& limits) {
  const std::unique_ptr<zip_file_t, Discard> file(zip_fopen_index(archive, entry.index, 0));
  if (!file) return broken(zip_strerror(archive));
  const std::uint64_t packed = (entry.valid & ZIP_STAT_COMP_SIZE) != 0 ? entry.comp_size : 0;
  std::string data;
  std::array<char, 65536> buffer;
  for (;;) {
    const std::int64_t got = zip_fread(file.get(), buffer.data(), buffer.size());
    if (got < 0) return broken(zip_file_strerror(file.get()));
    if (got == 0) return data;
    data.append(buffer.data(), static_cast<std::size_t>(got));
    if (data.size() > limits.max_bytes) {
      return Error{ErrorCode::kLimit,
                   "unpacks to more than " + std::to_string(limits.max_bytes) + " bytes (limits.max_unzipped_bytes)"};
    }
    if (data.size() > kAlwaysAllowed && data.size() / static_cast<std::uint64_t>(limits.max_ratio) > packed) {
      return Error{ErrorCode::kLimit, "unpacks to more than " + std::to_string(limits.max_ratio) +
                                          " times its size (limits.max_zip_ratio): a zip bomb?"};
    }
  }
}

}  // namespace

Result<std::string> read_zip_entry(const std::string& path, const std::function<bool(std::string_view)>& wanted,
                                   const ZipLimits& limits) {
  int code = 0;
  const std::unique_ptr<zip_t, Discard> archive(zip_open(path.c_str(), ZIP_RDONLY, &code));
  if (!archive) {
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    const Error result = broken(zip_error_strerror(&error));
    zip_error_fini(&error);
    return result;
  }
  const std::int64_t count = zip_get_num_entries(archive.get(), 0);
  if (count > kMaxEntries) return Error{ErrorCode::kLimit, "has more than " + std::to_string(kMaxEntries) + " entries"};
  zip_stat_t found;
  zip_stat_init(&found);
  bool any = false;
  for (std::int64_t i = 0; i < count; ++i) {
    zip_stat_t entry;
    zip_stat_init(&entry);
    if (zip_stat_index(archive.get(), static_cast<zip_uint64_t>(i), 0, &entry) != 0 || entry.name == nullptr) continue;
    if (!wanted(entry.name)) continue;
    // Programs differ on which of two entries of one name they show.
    if (any)
      return Error{ErrorCode::kInvalidInput,
                   "has two entries that could be meant: " + UntrustedText(found.name).for_log() + " and " +
                       UntrustedText(entry.name).for_log()};
    any = true;
    found = entry;
  }
  if (!any) return Error{ErrorCode::kNotFound, "has no such entry"};
  if ((found.valid & ZIP_STAT_ENCRYPTION_METHOD) != 0 && found.encryption_method != ZIP_EM_NONE) {
    return Error{ErrorCode::kInvalidInput, "is encrypted; remove the password first"};
  }
  return unpack_entry(archive.get(), found, limits);
}

}  // namespace casemate
