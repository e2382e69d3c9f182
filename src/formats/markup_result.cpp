#include "formats/markup_result.h"

#include <cstdint>

#include "casemate/core/utf8.h"

namespace casemate {
namespace {

constexpr std::string_view kMagic = "CASEMATE-MARKUP-1\n";

class Packer {
 public:
  void number(std::uint64_t value) {
    for (int i = 0; i < 8; ++i) out_ += static_cast<char>(static_cast<unsigned char>(value >> (8 * i)));
  }
  void text(std::string_view value) {
    number(value.size());
    out_ += value;
  }
  void span(ByteSpan value) {
    number(value.begin);
    number(value.end);
  }
  std::string out_;
};

class Unpacker {
 public:
  Unpacker(std::string_view bytes, std::size_t source_size) : bytes_(bytes), source_size_(source_size) {}

  std::uint64_t number() {
    if (bytes_.size() < 8) return bad_ = true, 0;
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < 8; ++i) value |= std::uint64_t{static_cast<unsigned char>(bytes_[i])} << (8 * i);
    bytes_.remove_prefix(8);
    return value;
  }
  std::string text() {
    const std::uint64_t size = number();
    if (bad_ || size > bytes_.size()) return bad_ = true, std::string();
    std::string value(bytes_.substr(0, size));
    bytes_.remove_prefix(size);
    if (!is_valid_utf8(value)) bad_ = true;
    return value;
  }
  ByteSpan span() {
    const std::uint64_t begin = number();
    const std::uint64_t end = number();
    if (begin > end || end > source_size_) bad_ = true;
    return bad_ ? ByteSpan{} : ByteSpan{begin, end};
  }
  /// A count of entries that take at least `bytes` each.
  std::uint64_t count(std::size_t bytes) {
    const std::uint64_t value = number();
    if (value > bytes_.size() / bytes) bad_ = true;
    return bad_ ? 0 : value;
  }
  [[nodiscard]] bool bad() const { return bad_; }
  void refuse() { bad_ = true; }
  [[nodiscard]] bool at_end() const { return bytes_.empty(); }

 private:
  std::string_view bytes_;
  std::size_t source_size_;
  bool bad_ = false;
};

}  // namespace

std::string pack(const MarkupResult& result) {
  Packer packer;
  packer.out_ = kMagic;
  packer.text(result.title);
  packer.text(result.text);
  packer.text(result.dropped);
  packer.number(result.offsets.pieces().size());
  for (const OffsetMap::Piece& piece : result.offsets.pieces()) {
    packer.number(piece.text.size());
    packer.span(piece.source);
  }
  packer.number(result.findings.size());
  for (const Finding& finding : result.findings) {
    packer.number(static_cast<std::uint64_t>(finding.kind));
    packer.span(finding.source);
    packer.number(finding.count);
    packer.text(finding.excerpt.bytes());
    packer.text(finding.note);
  }
  return std::move(packer.out_);
}

Result<MarkupResult> unpack(std::string_view bytes, std::size_t source_size) {
  const Error broken{ErrorCode::kInvalidInput, "the reader program gave an answer that makes no sense"};
  if (!bytes.starts_with(kMagic)) return broken;
  Unpacker unpacker(bytes.substr(kMagic.size()), source_size);
  MarkupResult result;
  result.title = unpacker.text();
  result.text = unpacker.text();
  result.dropped = unpacker.text();
  std::uint64_t text_left = result.text.size();
  for (std::uint64_t left = unpacker.count(24); left > 0 && !unpacker.bad(); --left) {
    const std::uint64_t length = unpacker.number();
    const ByteSpan source = unpacker.span();
    if (length > text_left) unpacker.refuse();
    if (unpacker.bad()) return broken;
    text_left -= length;
    result.offsets.append(length, source);
  }
  for (std::uint64_t left = unpacker.count(48); left > 0 && !unpacker.bad(); --left) {
    Finding finding;
    const std::uint64_t kind = unpacker.number();
    if (kind > static_cast<std::uint64_t>(FindingKind::kDeletedText)) return broken;
    finding.kind = static_cast<FindingKind>(kind);
    finding.source = unpacker.span();
    finding.count = unpacker.number();
    finding.excerpt = UntrustedText(unpacker.text());
    finding.note = UntrustedText(unpacker.text()).for_log(1000);
    result.findings.push_back(std::move(finding));
  }
  if (unpacker.bad() || text_left != 0 || !unpacker.at_end()) return broken;
  return result;
}

}  // namespace casemate
