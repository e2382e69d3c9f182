// Any bytes as a segment file, with a hash that is right, so that everything behind the hash is reached.
#include <cstring>

#include "fuzz_support.h"
#include "store/segment_file.h"

namespace {

using namespace casemate;

class OneFile final : public ReadableFile {
 public:
  explicit OneFile(std::string bytes) : bytes_(std::move(bytes)) {}
  std::uint64_t size() const override { return bytes_.size(); }
  Status read(std::uint64_t offset, std::size_t length, void* out) const override {
    if (offset > bytes_.size() || length > bytes_.size() - offset) return Error{ErrorCode::kCorrupt, "too short"};
    if (length > 0) std::memcpy(out, bytes_.data() + offset, length);
    return {};
  }

 private:
  std::string bytes_;
};

/// Every file of it has the same content; nothing can be changed.
class OneFileSystem final : public FileSystem {
 public:
  explicit OneFileSystem(std::string bytes) : bytes_(std::move(bytes)) {}
  Result<std::unique_ptr<WritableFile>> create(const std::string&) override { return refused(); }
  Result<std::unique_ptr<WritableFile>> append_to(const std::string&) override { return refused(); }
  Result<std::unique_ptr<ReadableFile>> open(const std::string&) override {
    return std::unique_ptr<ReadableFile>(std::make_unique<OneFile>(bytes_));
  }
  Status rename(const std::string&, const std::string&) override { return refused(); }
  Status remove(const std::string&) override { return refused(); }
  Status create_directories(const std::string&) override { return refused(); }
  Status sync_directory(const std::string&) override { return refused(); }
  Result<std::vector<std::string>> list(const std::string&) override { return refused(); }
  Result<FileInfo> info(const std::string&) override { return FileInfo{bytes_.size(), false, true, 0}; }

 private:
  static Error refused() { return {ErrorCode::kIo, "not here"}; }
  std::string bytes_;
};

template <typename T>
T number_at(std::string_view bytes, std::size_t at) {
  T value{};
  if (at + sizeof value <= bytes.size()) std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string bytes(fuzz::as_text(data, size));
  // What the database would expect is what the file says (docs/format.md), so that sizes that fit nothing get through.
  SegmentHeader expected;
  if (size >= 192) {
    std::memcpy(expected.store.data(), data + 16, 16);
    std::memcpy(expected.encoder.data(), data + 32, 32);
    std::memcpy(expected.tenant.data(), data + 64, 32);
    const std::string_view kind = std::string_view(bytes).substr(120, 32);
    expected.kind = std::string(kind.substr(0, kind.find('\0')));
  }
  expected.id = number_at<std::uint64_t>(bytes, 96);
  expected.chunks = number_at<std::uint64_t>(bytes, 104);
  expected.rows_per_chunk = number_at<std::uint32_t>(bytes, 112);
  expected.dimension = number_at<std::uint32_t>(bytes, 116);
  Hasher hasher(Hasher::Kind::kBlake2b);
  hasher.update(bytes);
  const Digest checksum = hasher.finish();
  bytes.append(reinterpret_cast<const char*>(checksum.data()), checksum.size());
  OneFileSystem files(std::move(bytes));
  const auto segment = load_segment(files, "store", expected, checksum);
  if (!segment) {
    fuzz::require(segment.error().message.find(".seg") != std::string::npos, "a refusal names the segment");
    return 0;
  }
  fuzz::require((*segment)->header == expected, "what is loaded is what was expected");
  fuzz::require((*segment)->chunk_ids.size() == expected.chunks, "as many ids as chunks");
  fuzz::require((*segment)->floats == expected.chunks * expected.row_floats(), "as many numbers as rows");
  return 0;
}
