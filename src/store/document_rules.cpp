#include "document_rules.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <span>

#include "casemate/core/utf8.h"

namespace casemate {
namespace {

constexpr std::size_t kMaxTenantBytes = 128, kMaxIdBytes = 2048, kMaxLabels = 64, kMaxLabelBytes = 256,
                      kMaxKindBytes = 31;
constexpr std::size_t kMaxTextBytes = std::size_t{16} << 20U, kMaxChunks = 1'000'000;
constexpr int kMaxRowsPerChunk = 1024, kMaxDimension = 65536;

bool is_plain_name(std::string_view name, std::size_t max_bytes) {
  if (name.empty() || name.size() > max_bytes) return false;
  for (std::size_t at = 0; at < name.size();) {
    const CodePoint point = read_code_point(name, at);
    if (point.value == kInvalidCodePoint || is_control(point.value)) return false;
    at += point.length;
  }
  return true;
}

bool is_kind(std::string_view kind) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-';
  };
  return !kind.empty() && kind.size() <= kMaxKindBytes && kind != kPassageVectors &&
         std::all_of(kind.begin(), kind.end(), allowed);
}

std::string shown(std::string_view text) { return "\"" + UntrustedText(std::string(text)).for_log(80) + "\""; }

/// The fault of a matrix that must be [rows, dimension] and finite, as a clause; empty if none.
std::string matrix_fault(std::span<const float> values, std::size_t rows, int dimension) {
  const auto width = static_cast<std::size_t>(dimension);
  if (values.size() != rows * width) {
    return std::to_string(values.size()) + " values, expected " + std::to_string(rows) + " rows of dimension " +
           std::to_string(dimension);
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i]))
      return "a NaN or an infinity in row " + std::to_string(i / width) + ", column " + std::to_string(i % width);
  }
  return {};
}

std::string labels_fault(const std::set<std::string>& labels) {
  if (labels.size() > kMaxLabels) return std::to_string(labels.size()) + " labels, at most 64 are allowed";
  for (const std::string& label : labels) {
    if (!is_plain_name(label, kMaxLabelBytes))
      return "the label " + shown(label) + " is not 1 to 256 bytes of UTF-8 without control characters";
  }
  return {};
}

std::string chunks_fault(const std::vector<NewChunk>& chunks) {
  if (chunks.size() > kMaxChunks) return std::to_string(chunks.size()) + " chunks, at most 1000000 are allowed";
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    const NewChunk& chunk = chunks[i];
    const std::string which = "chunk " + std::to_string(i);
    if (chunk.text.size() > kMaxTextBytes)
      return which + " has " + std::to_string(chunk.text.size()) + " bytes, at most 16 MiB are allowed";
    if (chunk.source_begin > chunk.source_end || chunk.source_end > INT64_MAX)
      return which + " has a source span that ends before it begins";
    if (chunk.page < 0 || chunk.line < 0) return which + " has a negative page or line";
  }
  return {};
}

std::string extra_fault(const ExtraVectors& extra, std::size_t chunks) {
  if (!is_kind(extra.kind)) return "the vector kind " + shown(extra.kind) + " is not allowed";
  if (extra.rows_per_chunk < 1 || extra.rows_per_chunk > kMaxRowsPerChunk)
    return extra.kind + " vectors: rows_per_chunk is not in [1, 1024]";
  if (extra.dimension < 1 || extra.dimension > kMaxDimension)
    return extra.kind + " vectors: the dimension is not in [1, 65536]";
  const std::string fault =
      matrix_fault(extra.rows, chunks * static_cast<std::size_t>(extra.rows_per_chunk), extra.dimension);
  return fault.empty() ? fault : extra.kind + " vectors: " + fault;
}

std::string extra_fault(const std::vector<ExtraVectors>& extras, std::size_t chunks) {
  std::set<std::string> kinds;
  for (const ExtraVectors& extra : extras) {
    if (!kinds.insert(extra.kind).second) return "the vector kind " + shown(extra.kind) + " is given twice";
    const std::string fault = extra_fault(extra, chunks);
    if (!fault.empty()) return fault;
  }
  return {};
}

std::string texts_fault(const NewDocument& document) {
  for (const std::size_t size : {document.title.size(), document.source_path.size(), document.format.size(),
                                 document.metadata_json.size(), document.findings_json.size()}) {
    if (size > kMaxTextBytes) return "title, source path, format, metadata and findings are limited to 16 MiB each";
  }
  if (!nlohmann::json::accept(document.metadata_json)) return "the metadata are not JSON";
  if (!nlohmann::json::accept(document.findings_json)) return "the findings are not JSON";
  return {};
}

}  // namespace

std::optional<Error> find_fault(const ExtraVectors& vectors, std::size_t chunks) {
  const std::string fault = extra_fault(vectors, chunks);
  if (fault.empty()) return std::nullopt;
  return Error{ErrorCode::kInvalidArgument, fault};
}

Status check_tenant_name(std::string_view name) {
  if (is_plain_name(name, kMaxTenantBytes)) return {};
  return Error{ErrorCode::kInvalidArgument,
               "the tenant's name " + shown(name) + " is not 1 to 128 bytes of UTF-8 without control characters"};
}

std::optional<Error> find_fault(const NewDocument& document, int dimension) {
  const auto refuse = [&](const std::string& what) {
    return Error{ErrorCode::kInvalidInput, "document " + shown(document.id) + ": " + what};
  };
  if (const Status tenant = check_tenant_name(document.tenant); !tenant) return refuse(tenant.error().message);
  if (!is_plain_name(document.id, kMaxIdBytes))
    return refuse("the id is not 1 to 2048 bytes of UTF-8 without control characters");
  for (const std::string& fault : {texts_fault(document), labels_fault(document.labels), chunks_fault(document.chunks),
                                   extra_fault(document.extra_vectors, document.chunks.size())}) {
    if (!fault.empty()) return refuse(fault);
  }
  const std::string fault = matrix_fault(document.embeddings, document.chunks.size(), dimension);
  if (!fault.empty()) return refuse("embeddings: " + fault);
  return std::nullopt;
}

}  // namespace casemate
