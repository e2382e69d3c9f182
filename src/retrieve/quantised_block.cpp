#include "retrieve/quantised_block.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <optional>

namespace casemate {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
/// Rows that the mean is taken of.
constexpr std::size_t kSample = 2048;
/// Products of norms beyond this square could overflow in single precision; such rows are never ruled out.
constexpr double kLargestNorm = 0x1p60;

/// The float that is surely not below `value`.
float rounded_up(double value) {
  const auto nearest = static_cast<float>(std::min(value, static_cast<double>(std::numeric_limits<float>::max())));
  return std::nextafter(nearest, kInfinity);
}

/// Sum of f(i) over [0, count) in eight parts, which a processor can add side by side.
template <typename F>
double sum_of(std::size_t count, F f) {
  double partial[8] = {};
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    for (std::size_t l = 0; l < 8; ++l) partial[l] += f(i + l);
  }
  for (; i < count; ++i) partial[0] += f(i);
  double sum = 0;
  for (const double p : partial) sum += p;
  return sum;
}

double square(double x) { return x * x; }

double norm(const double* values, std::size_t count) {
  return std::sqrt(sum_of(count, [&](std::size_t i) { return square(values[i]); }));
}

}  // namespace

std::size_t QuantisedBlock::resident_bytes() const {
  return high.size() + low.size() +
         sizeof(float) * (scale.size() + coarse_error.size() + fine_error.size() + code_norm.size() + along.size() +
                          largest_norm.size() + mean.size());
}

Result<std::shared_ptr<const QuantisedBlock>> QuantisedBlock::create(const VectorSnapshot& snapshot, std::size_t index,
                                                                     const QuantiseOptions& options,
                                                                     const ThreadPool& pool) {
  const VectorBlock& from = snapshot.blocks()[index];
  auto block = std::make_shared<QuantisedBlock>();
  block->file = from.file;
  block->chunks = from.chunks;
  block->rows = static_cast<std::size_t>(from.rows_per_chunk);
  block->dimension = static_cast<std::size_t>(from.dimension);
  if (block->dimension > kernels::kMaxDimension)
    return Error{ErrorCode::kInvalidArgument, from.file + ": the dimension is larger than 65536"};
  block->octets = (block->dimension + kernels::kOctet - 1) / kernels::kOctet;
  block->groups = (block->chunks + kernels::kGroupChunks - 1) / kernels::kGroupChunks;
  block->high = AlignedArray<std::uint8_t>(block->groups * block->plane_stride());
  block->low = AlignedArray<std::uint8_t>(block->groups * block->plane_stride());
  block->scale = AlignedArray<float>(block->groups * block->lane_stride());
  block->coarse_error = AlignedArray<float>(block->groups * block->lane_stride());
  block->fine_error = AlignedArray<float>(block->groups * block->lane_stride());
  block->code_norm = AlignedArray<float>(block->groups);
  if (options.sum_norms) {
    block->along = AlignedArray<float>(block->groups * block->lane_stride());
    block->largest_norm = AlignedArray<float>(block->groups);
  }
  if (block->groups > 0 && (block->high.size() == 0 || block->low.size() == 0 || block->code_norm.size() == 0))
    return Error{ErrorCode::kLimit, from.file + ": not enough memory for its codes"};
  if (const Status chosen = block->choose_mean(snapshot, index); !chosen) return chosen.error();
  std::mutex mutex;
  std::optional<Error> failed;
  pool.parallel_for(block->groups, [&](std::size_t group, int) {
    const Status filled = block->fill_group(snapshot, index, group);
    if (filled) return;
    const std::lock_guard lock(mutex);
    failed = filled.error();
  });
  if (failed) return *failed;
  return std::shared_ptr<const QuantisedBlock>(std::move(block));
}

Status QuantisedBlock::choose_mean(const VectorSnapshot& snapshot, std::size_t index) {
  // Encoders put all texts near one direction; what is left around it needs far smaller steps. Any vector would give
  // right bounds, so a sample does, without rows of outstanding norm, which would pull it away from all others.
  mean.assign(dimension, 0.0F);
  const std::size_t stride = std::max<std::size_t>(1, chunks * rows / kSample);
  std::vector<float> chunk(rows * dimension);
  std::vector<double> wide(dimension);
  std::vector<std::pair<double, std::vector<float>>> sample;
  for (std::size_t at = 0; at < chunks * rows; at += stride) {
    if (const Status read = snapshot.read_rows(index, at / rows, 1, chunk); !read) return read;
    const float* row = chunk.data() + at % rows * dimension;
    std::copy(row, row + dimension, wide.begin());
    sample.emplace_back(norm(wide.data(), dimension), std::vector<float>(row, row + dimension));
  }
  if (sample.empty()) return {};
  const auto middle = sample.begin() + static_cast<std::ptrdiff_t>(sample.size() / 2);
  std::nth_element(sample.begin(), middle, sample.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  const double largest = std::min(2 * middle->first, kLargestNorm);
  std::vector<double> sum(dimension, 0.0);
  std::size_t taken = 0;
  for (const auto& [length, row] : sample) {
    if (length > largest) continue;
    ++taken;
    for (std::size_t i = 0; i < dimension; ++i) sum[i] += static_cast<double>(row[i]);
  }
  for (std::size_t i = 0; i < dimension && taken > 0; ++i)
    mean[i] = static_cast<float>(sum[i] / static_cast<double>(taken));
  for (std::size_t i = 0; i < dimension; ++i) wide[i] = static_cast<double>(mean[i]);
  mean_norm = norm(wide.data(), dimension);
  return {};
}

Status QuantisedBlock::fill_group(const VectorSnapshot& snapshot, std::size_t index, std::size_t group) {
  const std::size_t first = group * kernels::kGroupChunks;
  const std::size_t count = std::min(kernels::kGroupChunks, chunks - first);
  std::vector<float> values(count * rows * dimension);
  if (const Status read = snapshot.read_rows(index, first, count, values); !read) return read;
  for (std::size_t lane = 0; lane < count; ++lane) {
    for (std::size_t r = 0; r < rows; ++r) fill_row(values.data() + (lane * rows + r) * dimension, group, r, lane);
    if (along.size() > 0) fill_along(values.data() + lane * rows * dimension, group, lane);
  }
  return {};
}

void QuantisedBlock::fill_along(const float* chunk, std::size_t group, std::size_t lane) {
  // The part of each row along the chunk's own direction: a sum is at least as long as its part along any direction.
  std::vector<double> direction(dimension, 0.0);
  for (std::size_t i = 0; i < rows * dimension; ++i) direction[i % dimension] += static_cast<double>(chunk[i]);
  const double length = norm(direction.data(), dimension);
  for (std::size_t r = 0; r < rows; ++r) {
    double part = 0;
    double squares = 0;
    for (std::size_t i = 0; i < dimension; ++i) {
      const auto x = static_cast<double>(chunk[r * dimension + i]);
      part += x * direction[i];
      squares += x * x;
    }
    const double row_norm = std::sqrt(squares);
    // Computing the squared norm of a sum in double precision errs by less than 1e-10 times the square of the rows'
    // norms added up, and (a - b)^2 <= a^2 - b^2 for a >= b >= 0: hence 1e-5 of each norm.
    const double kept = (length > 0 ? part / length : 0.0) - 1e-5 * row_norm;
    const std::size_t at = group * lane_stride() + r * kernels::kGroupChunks + lane;
    along.data()[at] = row_norm <= kLargestNorm ? -rounded_up(-kept) : -kInfinity;
    largest_norm.data()[group] =
        std::max(largest_norm.data()[group], row_norm <= kLargestNorm ? rounded_up(row_norm * (1 + 1e-5)) : kInfinity);
  }
}

void QuantisedBlock::fill_row(const float* row, std::size_t group, std::size_t r, std::size_t lane) {
  const std::size_t d = dimension;
  std::vector<double> rest(d);
  std::vector<std::int32_t> codes(octets * kernels::kOctet, 0);
  double partial[8] = {};
  for (std::size_t i = 0; i < d; ++i) {
    rest[i] = static_cast<double>(row[i]) - static_cast<double>(mean[i]);
    partial[i % 8] = std::max(partial[i % 8], std::abs(rest[i]));
  }
  const double row_norm = std::sqrt(sum_of(d, [&](std::size_t i) { return square(static_cast<double>(row[i])); }));
  const auto step = static_cast<float>(*std::max_element(std::begin(partial), std::end(partial)) / 127.5);
  const auto wide_step = static_cast<double>(step);
  const double inverse = wide_step > 0 ? 1 / wide_step : 0;
  for (std::size_t i = 0; i < d; ++i)
    codes[i] = static_cast<std::int32_t>(std::min(std::max(rest[i] * inverse + 128, 0.0), 255.0));
  put_codes(codes, (group * rows + r) * octets * kernels::kLineBytes + 4 * lane);
  const double fine = std::sqrt(
      sum_of(d, [&](std::size_t i) { return square(rest[i] - wide_step * (static_cast<double>(codes[i]) - 127.5)); }));
  const double coarse = std::sqrt(sum_of(
      d, [&](std::size_t i) { return square(rest[i] - wide_step * (static_cast<double>(codes[i] & ~15) - 120)); }));
  // The quantised part is no longer than the rest and its error together.
  const double quantised = norm(rest.data(), d) + std::max(coarse, fine);
  const std::size_t at = group * lane_stride() + r * kernels::kGroupChunks + lane;
  scale.data()[at] = step;
  // gamma_d for the canonical score, and 96 units for the roundings of the bound itself, of the sum of up to 64 of them
  // and of all norms (docs/retrieval.md).
  const double du = static_cast<double>(d) * 0x1p-24;
  const double rounding = (du / (1 - du) + 96 * 0x1p-24) *
                          (row_norm + quantised + wide_step * std::sqrt(static_cast<double>(d)) * 2 + 2 * mean_norm);
  const bool bounded = row_norm <= kLargestNorm;
  const auto bound = [&](double error) { return bounded ? rounded_up((error + rounding) * (1 + 0x1p-16)) : kInfinity; };
  coarse_error.data()[at] = bound(coarse);
  fine_error.data()[at] = bound(fine);
  code_norm.data()[group] = std::max(code_norm.data()[group], bounded ? rounded_up(quantised * (1 + 0x1p-16)) : 0.0F);
}

void QuantisedBlock::put_codes(const std::vector<std::int32_t>& codes, std::size_t at) {
  for (std::size_t o = 0; o < octets; ++o, at += kernels::kLineBytes) {
    for (std::size_t v = 0; v < 4; ++v) {
      const std::int32_t first = codes[o * kernels::kOctet + v];
      const std::int32_t second = codes[o * kernels::kOctet + v + 4];
      high.data()[at + v] = static_cast<std::uint8_t>(first >> 4 | (second & 0xF0));
      low.data()[at + v] = static_cast<std::uint8_t>((first & 15) | (second & 15) << 4);
    }
  }
}

}  // namespace casemate
