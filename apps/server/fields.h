// Reads the JSON body of a request: bounded depth, valid UTF-8, typed fields with ranges.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "api_error.h"

namespace casemate::server {

using Json = nlohmann::ordered_json;

/// Error: 415 for another content type than `application/json`; 400 for bytes that are no JSON, nested more than 64
/// deep, or no object.
[[nodiscard]] std::variant<Json, ApiError> read_object(const Request& request);
/// One JSON value of at most that depth, whatever its type.
[[nodiscard]] std::variant<Json, ApiError> read_json(std::string_view text);

/// Takes named fields out of an object. The first error is kept and the rest skipped; null counts as absent.
///
///   Fields fields(body);
///   fields.text("query", query, 4096).required().integer("top_k", top_k, 1, 100);
///   if (auto wrong = fields.finish()) return error_response(*wrong);
class Fields {
 public:
  /// `object` must outlive it. `path` stands before field names in messages ("filter.").
  explicit Fields(const Json& object, std::string path = {});

  Fields& text(std::string_view name, std::string& out, std::size_t max_bytes);
  Fields& texts(std::string_view name, std::vector<std::string>& out, std::size_t max_count, std::size_t max_bytes);
  Fields& boolean(std::string_view name, bool& out);
  Fields& integer(std::string_view name, int& out, int low, int high);
  Fields& number(std::string_view name, double& out);  ///< finite
  Fields& numbers(std::string_view name, std::vector<float>& out, std::size_t max_count);
  /// An object or list, to be read by the caller; null where absent. Points into the body.
  Fields& object(std::string_view name, const Json*& out);
  Fields& list(std::string_view name, const Json*& out, std::size_t max_count);
  /// The field named last must be there.
  Fields& required();
  /// Another error, found by the caller.
  Fields& wrong(std::string_view name, std::string_view what);

  /// The first error, else one for a field that nobody named (with the nearest name).
  [[nodiscard]] std::optional<ApiError> finish() const;
  /// The first error; unknown fields are let be.
  [[nodiscard]] std::optional<ApiError> finish_ignoring_unknown() const { return error_; }

 private:
  const Json* take(std::string_view name);
  void fail(std::string_view name, const std::string& what, bool limit = false);

  const Json& object_;
  std::string path_;
  std::vector<std::string> known_;
  bool last_absent_ = false;
  std::optional<ApiError> error_;
};

}  // namespace casemate::server
