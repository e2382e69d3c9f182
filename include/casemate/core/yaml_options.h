// casemate/core/yaml_options.h
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "casemate/core/status.h"

namespace casemate {

/// A value of a YAML document that knows its place, so that every error can say `file:line: field: what`.
/// Cheap to copy; one document and its values belong to one thread.
class YamlValue {
 public:
  /// Parses one document of at most 16 MB. `name` stands in messages (a path, say); it is not opened.
  /// Error: InvalidInput with line and column, also for a key that stands twice in one map; Limit.
  [[nodiscard]] static Result<YamlValue> parse(std::string_view text, std::string_view name);
  /// Error: as `parse`, and those of `read_file`.
  [[nodiscard]] static Result<YamlValue> parse_file(const std::string& path);

  [[nodiscard]] bool is_null() const;  ///< nothing, `~` or `null`
  [[nodiscard]] bool is_map() const;
  [[nodiscard]] bool is_list() const;

  /// Errors of these: InvalidInput where the value has another type, InvalidOption where it is outside [low, high].
  [[nodiscard]] Result<std::string> text() const;
  [[nodiscard]] Result<std::int64_t> integer(std::int64_t low, std::int64_t high) const;
  [[nodiscard]] Result<double> number(double low, double high) const;
  [[nodiscard]] Result<bool> boolean() const;  ///< true or false only
  [[nodiscard]] Result<std::vector<YamlValue>> list() const;
  [[nodiscard]] Result<std::vector<std::string>> texts() const;
  /// The keys of a map in order; empty for other values.
  [[nodiscard]] std::vector<std::string> keys() const;
  /// The value of `key`; nothing where there is none or this is no map.
  [[nodiscard]] std::optional<YamlValue> find(std::string_view key) const;

  /// "models[0].files": where in the document; empty for its root.
  [[nodiscard]] const std::string& field() const;
  /// `message` with file, line and field before it.
  [[nodiscard]] Error error(ErrorCode code, std::string_view message) const;

 private:
  struct State;
  explicit YamlValue(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

/// Fills a plain options struct from a YAML map. Name each field once, then ask `finish`:
///
///   YamlOptions options(value);
///   options.read("top_k", out.top_k, 1, 1000).read("max_cosine", out.max_cosine, 0.0F, 1.0F);
///   if (Status read = options.finish(); !read) return read.error();
///
/// A field that is absent or null keeps its default. The first error is kept and the rest skipped.
class YamlOptions {
 public:
  /// A null value reads as an empty map.
  explicit YamlOptions(YamlValue map);

  YamlOptions& read(std::string_view name, bool& out);
  YamlOptions& read(std::string_view name, std::string& out);
  YamlOptions& read(std::string_view name, std::vector<std::string>& out);
  YamlOptions& read(std::string_view name, int& out, int low, int high);
  YamlOptions& read(std::string_view name, std::uint64_t& out, std::uint64_t low, std::uint64_t high);
  YamlOptions& read(std::string_view name, double& out, double low, double high);
  YamlOptions& read(std::string_view name, float& out, float low, float high);
  /// The value itself, for nested structures.
  YamlOptions& read(std::string_view name, std::optional<YamlValue>& out);
  /// The field named last must be there and not null.
  YamlOptions& required();

  /// Error: the first one met, else InvalidOption for a key that no `read` named, with the nearest one that was.
  [[nodiscard]] Status finish() const;

 private:
  /// The value of `name` unless it is absent, null, or an error was met before.
  std::optional<YamlValue> take(std::string_view name);
  void fail(Error error);

  YamlValue map_;
  std::vector<std::string> known_;
  std::optional<Error> error_;
};

}  // namespace casemate
