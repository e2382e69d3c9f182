#include "defend/mask_record.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <utility>
#include "defend/candidate_vectors.h"

namespace casemate {
namespace {

static_assert(std::endian::native == std::endian::little, "cached values are little-endian");

/// Numbers before the embeddings: tokens, tokens cut, number of segments; then four a segment.
constexpr std::size_t kHeaderNumbers = 3;
constexpr std::size_t kSegmentNumbers = 4;

}  // namespace

std::string floats_to_bytes(std::span<const float> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

std::vector<float> floats_from_bytes(std::string_view bytes, std::size_t count) {
  if (bytes.size() != count * sizeof(float)) return {};
  std::vector<float> values(count);
  std::memcpy(values.data(), bytes.data(), bytes.size());
  if (!all_finite(values)) return {};
  return values;
}

std::string segments_to_bytes(const MaskedPassage& passage, std::span<const float> rows) {
  std::vector<std::uint64_t> numbers = {passage.tokens, passage.tokens_cut, passage.segments.size()};
  for (const MaskedPassage::Segment& s : passage.segments)
    numbers.insert(numbers.end(), {s.begin, s.end, s.bytes.begin, s.bytes.end});
  std::string out(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(std::uint64_t));
  return out + floats_to_bytes(rows);
}

bool segments_from_bytes(std::string_view bytes, std::size_t dimension, MaskedPassage& passage,
                         std::vector<float>& rows) {
  const auto number = [&](std::size_t i) {
    std::uint64_t value = 0;
    std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
    return static_cast<std::size_t>(value);
  };
  if (bytes.size() < kHeaderNumbers * sizeof(std::uint64_t)) return false;
  const std::size_t count = number(2);
  const std::size_t row_bytes = dimension * sizeof(float);
  if (count > bytes.size()) return false;  // keeps the products below from overflowing
  const std::size_t header = (kHeaderNumbers + count * kSegmentNumbers) * sizeof(std::uint64_t);
  if (bytes.size() != header + count * row_bytes) return false;
  std::vector<MaskedPassage::Segment> segments;
  std::size_t last = 0;
  for (std::size_t s = 0; s < count; ++s) {
    const std::size_t at = kHeaderNumbers + s * kSegmentNumbers;
    const MaskedPassage::Segment segment{number(at), number(at + 1), {number(at + 2), number(at + 3)}};
    if (segment.begin < last || segment.end <= segment.begin) return false;
    if (segment.bytes.begin > segment.bytes.end || segment.bytes.end > passage.text.size()) return false;
    last = segment.end;
    segments.push_back(segment);
  }
  std::vector<float> values = floats_from_bytes(bytes.substr(header), count * dimension);
  if (values.size() != count * dimension) return false;
  passage.tokens = number(0);
  passage.tokens_cut = number(1);
  passage.segments = std::move(segments);
  rows = std::move(values);
  return true;
}

}  // namespace casemate
