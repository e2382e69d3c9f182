#include "casemate/core/yaml_options.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <set>
#include <sstream>
#include <utility>

#include "casemate/core/file_system.h"
#include "casemate/core/nearest_name.h"
#include "casemate/core/untrusted_text.h"

namespace casemate {
namespace {

constexpr std::size_t kMaxBytes = 16'000'000;

std::string quoted(const std::string& text) { return "\"" + UntrustedText(text).for_log(80) + "\""; }

std::string shown(double value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

/// The whole of `text` as a number; nothing where it is not one.
template <typename Number>
std::optional<Number> parse_number(const std::string& text) {
  Number value{};
  const char* begin = text.data() + (text.starts_with('+') ? 1 : 0);
  const auto [end, code] = std::from_chars(begin, text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size() || begin == end) return std::nullopt;
  return value;
}

}  // namespace

struct YamlValue::State {
  YAML::Node node;
  std::shared_ptr<const std::string> name;
  std::string field;
  int line = 0;  ///< from 1; a null value has its parent's

  std::shared_ptr<const State> child(const YAML::Node& at, std::string_view key, bool in_list) const {
    std::string path = field;
    if (in_list) {
      path.append("[").append(key).append("]");
    } else {
      path.append(path.empty() ? "" : ".").append(key);
    }
    const int at_line = at.Mark().line >= 0 && !at.IsNull() ? at.Mark().line + 1 : line;
    return std::make_shared<State>(State{at, name, std::move(path), at_line});
  }
};

Result<YamlValue> YamlValue::parse(std::string_view text, std::string_view name) {
  const std::string file(name);
  if (text.size() > kMaxBytes) {
    return Error{ErrorCode::kLimit, file + ": has more than " + std::to_string(kMaxBytes) + " bytes"};
  }
  try {
    const std::vector<YAML::Node> documents = YAML::LoadAll(std::string(text));
    if (documents.size() > 1) return Error{ErrorCode::kInvalidInput, file + ": has more than one YAML document"};
    const YAML::Node root = documents.empty() ? YAML::Node() : documents.front();
    return YamlValue(std::make_shared<State>(State{root, std::make_shared<const std::string>(file), {}, 1}));
  } catch (const YAML::Exception& problem) {
    return Error{ErrorCode::kInvalidInput, file + ":" + std::to_string(problem.mark.line + 1) + ": column " +
                                               std::to_string(problem.mark.column + 1) +
                                               ": is not YAML: " + UntrustedText(problem.msg).for_log()};
  } catch (const std::exception& problem) {
    return Error{ErrorCode::kInvalidInput, file + ": is not YAML: " + UntrustedText(problem.what()).for_log()};
  }
}

Result<YamlValue> YamlValue::parse_file(const std::string& path) {
  const Result<std::string> text = read_file(path, kMaxBytes);
  if (!text) return text.error();
  return parse(*text, path);
}

bool YamlValue::is_null() const { return !state_->node.IsDefined() || state_->node.IsNull(); }
bool YamlValue::is_map() const { return state_->node.IsDefined() && state_->node.IsMap(); }
bool YamlValue::is_list() const { return state_->node.IsDefined() && state_->node.IsSequence(); }
const std::string& YamlValue::field() const { return state_->field; }

Error YamlValue::error(ErrorCode code, std::string_view message) const {
  std::string whole = *state_->name + ":" + std::to_string(state_->line) + ": ";
  if (!state_->field.empty()) whole += UntrustedText(state_->field).for_log() + ": ";
  return Error{code, whole.append(message)};
}

Result<std::string> YamlValue::text() const {
  if (is_null() || !state_->node.IsScalar()) return error(ErrorCode::kInvalidInput, "must be a text");
  return state_->node.Scalar();
}

Result<std::int64_t> YamlValue::integer(std::int64_t low, std::int64_t high) const {
  const Result<std::string> scalar = text();
  const std::string range = "an integer in " + std::to_string(low) + " to " + std::to_string(high);
  const std::optional<std::int64_t> value = scalar.ok() ? parse_number<std::int64_t>(*scalar) : std::nullopt;
  if (!value) {
    return error(ErrorCode::kInvalidInput, "must be " + range + (scalar.ok() ? ", not " + quoted(*scalar) : ""));
  }
  if (*value < low || *value > high) {
    return error(ErrorCode::kInvalidOption, "must be " + range + ", not " + std::to_string(*value));
  }
  return *value;
}

Result<double> YamlValue::number(double low, double high) const {
  const Result<std::string> scalar = text();
  const std::string range = "a number in " + shown(low) + " to " + shown(high);
  const std::optional<double> value = scalar.ok() ? parse_number<double>(*scalar) : std::nullopt;
  if (!value) {
    return error(ErrorCode::kInvalidInput, "must be " + range + (scalar.ok() ? ", not " + quoted(*scalar) : ""));
  }
  // Written so that NaN is refused.
  if (!(*value >= low && *value <= high)) {
    return error(ErrorCode::kInvalidOption, "must be " + range + ", not " + quoted(*scalar));
  }
  return *value;
}

Result<bool> YamlValue::boolean() const {
  const Result<std::string> scalar = text();
  if (scalar.ok() && (*scalar == "true" || *scalar == "false")) return *scalar == "true";
  return error(ErrorCode::kInvalidInput, "must be true or false" + (scalar.ok() ? ", not " + quoted(*scalar) : ""));
}

Result<std::vector<YamlValue>> YamlValue::list() const {
  if (!is_list()) return error(ErrorCode::kInvalidInput, "must be a list");
  std::vector<YamlValue> values;
  std::size_t index = 0;
  for (const YAML::Node& item : state_->node) {
    values.push_back(YamlValue(state_->child(item, std::to_string(index++), true)));
  }
  return values;
}

Result<std::vector<std::string>> YamlValue::texts() const {
  const Result<std::vector<YamlValue>> values = list();
  if (!values) return values.error();
  std::vector<std::string> out;
  for (const YamlValue& value : *values) {
    Result<std::string> one = value.text();
    if (!one) return one.error();
    out.push_back(*std::move(one));
  }
  return out;
}

std::vector<std::string> YamlValue::keys() const {
  std::vector<std::string> names;
  if (!is_map()) return names;
  for (const auto& entry : state_->node) names.push_back(entry.first.IsScalar() ? entry.first.Scalar() : "?");
  return names;
}

std::optional<YamlValue> YamlValue::find(std::string_view key) const {
  if (!is_map()) return std::nullopt;
  for (const auto& entry : state_->node) {
    if (entry.first.IsScalar() && entry.first.Scalar() == key) {
      return YamlValue(state_->child(entry.second, key, false));
    }
  }
  return std::nullopt;
}

YamlOptions::YamlOptions(YamlValue map) : map_(std::move(map)) {
  if (map_.is_null()) return;
  if (!map_.is_map()) fail(map_.error(ErrorCode::kInvalidInput, "must be a map of fields"));
  std::set<std::string> seen;
  for (const std::string& key : map_.keys()) {
    if (!seen.insert(key).second) {
      fail(map_.error(ErrorCode::kInvalidInput, "key " + quoted(key) + " stands here twice"));
    }
  }
}

void YamlOptions::fail(Error error) {
  if (!error_) error_ = std::move(error);
}

std::optional<YamlValue> YamlOptions::take(std::string_view name) {
  known_.emplace_back(name);
  if (error_) return std::nullopt;
  std::optional<YamlValue> value = map_.find(name);
  if (!value || value->is_null()) return std::nullopt;
  return value;
}

YamlOptions& YamlOptions::required() {
  const std::optional<YamlValue> value = map_.find(known_.back());
  if (!error_ && (!value || value->is_null())) {
    fail(map_.error(ErrorCode::kInvalidInput, "\"" + known_.back() + "\" is missing"));
  }
  return *this;
}

YamlOptions& YamlOptions::read(std::string_view name, bool& out) {
  if (const auto value = take(name)) {
    const Result<bool> got = value->boolean();
    if (!got) return fail(got.error()), *this;
    out = *got;
  }
  return *this;
}

YamlOptions& YamlOptions::read(std::string_view name, std::string& out) {
  if (const auto value = take(name)) {
    Result<std::string> got = value->text();
    if (!got) return fail(got.error()), *this;
    out = *std::move(got);
  }
  return *this;
}

YamlOptions& YamlOptions::read(std::string_view name, std::vector<std::string>& out) {
  if (const auto value = take(name)) {
    Result<std::vector<std::string>> got = value->texts();
    if (!got) return fail(got.error()), *this;
    out = *std::move(got);
  }
  return *this;
}

YamlOptions& YamlOptions::read(std::string_view name, int& out, int low, int high) {
  if (const auto value = take(name)) {
    const Result<std::int64_t> got = value->integer(low, high);
    if (!got) return fail(got.error()), *this;
    out = static_cast<int>(*got);
  }
  return *this;
}

YamlOptions& YamlOptions::read(std::string_view name, std::uint64_t& out, std::uint64_t low, std::uint64_t high) {
  if (const auto value = take(name)) {
    const Result<std::string> scalar = value->text();
    const std::optional<std::uint64_t> got = scalar.ok() ? parse_number<std::uint64_t>(*scalar) : std::nullopt;
    if (!got || *got < low || *got > high) {
      return fail(value->error(ErrorCode::kInvalidOption, "must be an integer in " + std::to_string(low) + " to " +
                                                              std::to_string(high) +
                                                              (scalar.ok() ? ", not " + quoted(*scalar) : ""))),
             *this;
    }
    out = *got;
  }
  return *this;
}

YamlOptions& YamlOptions::read(std::string_view name, double& out, double low, double high) {
  if (const auto value = take(name)) {
    const Result<double> got = value->number(low, high);
    if (!got) return fail(got.error()), *this;
    out = *got;
  }
  return *this;
}

YamlOptions& YamlOptions::read(std::string_view name, float& out, float low, float high) {
  double value = out;
  read(name, value, static_cast<double>(low), static_cast<double>(high));
  out = static_cast<float>(value);
  return *this;
}

YamlOptions& YamlOptions::read(std::string_view name, std::optional<YamlValue>& out) {
  if (auto value = take(name)) out = std::move(value);
  return *this;
}

Status YamlOptions::finish() const {
  if (error_) return *error_;
  for (const std::string& key : map_.keys()) {
    if (std::find(known_.begin(), known_.end(), key) != known_.end()) continue;
    const std::optional<YamlValue> value = map_.find(key);
    const std::string message = "unknown key " + quoted(key) + name_hint(key, known_);
    return (value && !value->is_null() ? *value : map_).error(ErrorCode::kInvalidOption, message);
  }
  return {};
}

}  // namespace casemate
