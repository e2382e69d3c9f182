#include "formats/json_value.h"

#include <string>
#include <utility>
#include <vector>

#include "casemate/core/untrusted_text.h"

namespace casemate {
namespace {

using nlohmann::json;

/// Builds the value from parser events, with the two checks that nlohmann's own builder does not make.
class Builder final : public nlohmann::json_sax<json> {
 public:
  explicit Builder(int max_nesting) : max_nesting_(static_cast<std::size_t>(max_nesting)) {}

  bool null() override { return add(json(nullptr)); }
  bool boolean(bool value) override { return add(json(value)); }
  bool number_integer(number_integer_t value) override { return add(json(value)); }
  bool number_unsigned(number_unsigned_t value) override { return add(json(value)); }
  bool number_float(number_float_t value, const string_t&) override { return add(json(value)); }
  bool string(string_t& value) override { return add(json(std::move(value))); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(json::object()); }
  bool start_array(std::size_t) override { return open(json::array()); }
  bool end_object() override { return open_.pop_back(), true; }
  bool end_array() override { return open_.pop_back(), true; }
  bool key(string_t& name) override {
    if (open_.back()->contains(name)) {
      error_ = {ErrorCode::kInvalidInput,
                "the key \"" + UntrustedText(name).for_log(60) + "\" is there twice in one object"};
      return false;
    }
    key_ = std::move(name);
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& what) override {
    std::string words = what.what();
    // "[json.exception.parse_error.101] parse error at line 1, column 5: syntax error ...; last read: '...'"
    if (const std::size_t colon = words.find(": "); colon != std::string::npos) words = words.substr(colon + 2);
    error_ = {ErrorCode::kInvalidInput,
              "not valid JSON at byte " + std::to_string(position) + ": " + UntrustedText(words).for_log(160)};
    return false;
  }

  json root_;
  Error error_{ErrorCode::kInvalidInput, "not valid JSON"};

 private:
  json* place(json value) {
    if (open_.empty()) return root_ = std::move(value), &root_;
    json& parent = *open_.back();
    if (parent.is_array()) return parent.push_back(std::move(value)), &parent.back();
    return &(parent[key_] = std::move(value));
  }
  bool add(json value) {
    place(std::move(value));
    return true;
  }
  bool open(json value) {
    if (open_.size() >= max_nesting_) {
      error_ = {ErrorCode::kLimit, "JSON nests deeper than " + std::to_string(max_nesting_) + " (limits.max_nesting)"};
      return false;
    }
    open_.push_back(place(std::move(value)));
    return true;
  }

  std::size_t max_nesting_;
  std::vector<json*> open_;  // a container grows only while it is the last one here, so these stay valid
  std::string key_;
};

}  // namespace

Result<json> parse_json(std::string_view text, int max_nesting) {
  Builder builder(max_nesting);
  try {
    if (json::sax_parse(text.begin(), text.end(), &builder)) return std::move(builder.root_);
  } catch (const std::exception& error) {
    return Error{ErrorCode::kInvalidInput, "not valid JSON: " + UntrustedText(error.what()).for_log()};
  }
  return builder.error_;
}

}  // namespace casemate
