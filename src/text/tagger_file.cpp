#include "text/tagger_file.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "casemate/core/hash.h"

extern "C" {
extern const char casemate_english_tagger[];
extern const char casemate_english_tagger_end[];
}

namespace casemate {
namespace {

static_assert(std::endian::native == std::endian::little, "the tagger's file is little-endian");

constexpr std::string_view kMagic = "CASETAGR";
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kHeaderBytes = 48;
constexpr std::size_t kEntryBytes = 32;
constexpr std::size_t kNameBytes = 16;

template <typename T>
T read_at(std::string_view bytes, std::size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}

Error corrupt(const std::string& what) { return {ErrorCode::kCorrupt, "English tagger: " + what}; }

}  // namespace

std::string_view english_tagger_bytes() noexcept {
  return {casemate_english_tagger, static_cast<std::size_t>(casemate_english_tagger_end - casemate_english_tagger)};
}

Result<TaggerFile> TaggerFile::open(std::string_view bytes) {
  if (bytes.size() < kHeaderBytes || !bytes.starts_with(kMagic)) return corrupt("its file does not begin as one");
  if (const auto version = read_at<std::uint32_t>(bytes, 8); version != kVersion)
    return corrupt("its file has version " + std::to_string(version) + ", not " + std::to_string(kVersion));
  const auto digest = blake2b(bytes.substr(kHeaderBytes));
  if (std::memcmp(digest.data(), bytes.data() + 16, digest.size()) != 0) return corrupt("its file fails its checksum");
  const std::size_t count = read_at<std::uint32_t>(bytes, 12);
  if (count > (bytes.size() - kHeaderBytes) / kEntryBytes) return corrupt("its table of sections is cut");
  TaggerFile file;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = kHeaderBytes + i * kEntryBytes;
    std::string_view name = bytes.substr(at, kNameBytes);
    name = name.substr(0, name.find('\0'));
    const auto offset = read_at<std::uint64_t>(bytes, at + kNameBytes);
    const auto size = read_at<std::uint64_t>(bytes, at + kNameBytes + 8);
    if (offset > bytes.size() || size > bytes.size() - offset) return corrupt("a section lies outside of its file");
    file.sections_.emplace(name, bytes.substr(offset, size));
  }
  return file;
}

Result<std::string_view> TaggerFile::section(std::string_view name) const {
  const auto found = sections_.find(name);
  if (found == sections_.end()) return corrupt("its file has no section " + std::string(name));
  return found->second;
}

Result<std::string_view> TaggerFile::section(std::string_view name, std::size_t bytes) const {
  auto found = section(name);
  if (found && found->size() != bytes)
    return corrupt("section " + std::string(name) + " has " + std::to_string(found->size()) + " bytes, not " +
                   std::to_string(bytes));
  return found;
}

Result<std::vector<float>> TaggerFile::floats(std::string_view name, std::size_t count) const {
  const auto bytes = section(name, count * sizeof(float));
  if (!bytes) return bytes.error();
  std::vector<float> values(count);
  std::memcpy(values.data(), bytes->data(), bytes->size());
  return values;
}

Result<std::vector<TaggerRecord>> TaggerFile::table(std::string_view name, std::size_t fields) const {
  const auto bytes = section(name);
  if (!bytes) return bytes.error();
  std::vector<TaggerRecord> records;
  for (std::size_t begin = 0; begin < bytes->size();) {
    const std::size_t end = std::min(bytes->find('\x1e', begin), bytes->size());
    TaggerRecord& record = records.emplace_back();
    for (std::string_view rest = bytes->substr(begin, end - begin);;) {
      const std::size_t cut = rest.find('\x1f');
      record.push_back(rest.substr(0, cut));
      if (cut == std::string_view::npos) break;
      rest.remove_prefix(cut + 1);
    }
    if (record.size() < fields) return corrupt("a record of section " + std::string(name) + " lacks fields");
    begin = end + 1;
  }
  return records;
}

Result<CharacterClass> CharacterClass::read(const TaggerFile& file, std::string_view section) {
  const auto bytes = file.section(section);
  if (!bytes) return bytes.error();
  CharacterClass out;
  for (std::size_t at = 0; at + 8 <= bytes->size(); at += 8)
    out.ranges_.push_back({read_at<std::uint32_t>(*bytes, at), read_at<std::uint32_t>(*bytes, at + 4)});
  for (const Range& range : out.ranges_) {
    for (char32_t c = range.first; c <= range.last && c < out.ascii_.size(); ++c) out.ascii_[c] = true;
  }
  return out;
}

bool CharacterClass::contains(char32_t value) const noexcept {
  if (value < ascii_.size()) return ascii_[value];
  const auto after = std::upper_bound(ranges_.begin(), ranges_.end(), value,
                                      [](char32_t c, const Range& range) { return c < range.first; });
  return after != ranges_.begin() && value <= std::prev(after)->last;
}

}  // namespace casemate
