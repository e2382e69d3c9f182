#include "attack/request_template.h"

#include <charconv>

#include "casemate/core/utf8.h"

namespace casemate {
namespace {

using Json = nlohmann::ordered_json;

/// One pass: a value with "{{id}}" in it stays as it is.
template <typename Encode>
std::string fill(std::string_view text, const TemplateValues& values, const Encode& encode) {
  std::string out;
  while (true) {
    const std::size_t open = text.find("{{");
    const std::size_t close = open == std::string_view::npos ? open : text.find("}}", open);
    if (close == std::string_view::npos) return out.append(text);
    out.append(text.substr(0, open));
    const auto value = values.find(text.substr(open + 2, close - open - 2));
    if (value == values.end()) {
      out.append(text.substr(open, close + 2 - open));
    } else {
      out += encode(value->second);
    }
    text.remove_prefix(close + 2);
  }
}

std::string percent_encoded(const std::string& text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("-._~").find(c) != std::string_view::npos;
    const auto byte = static_cast<unsigned char>(c);
    out += plain ? std::string(1, c) : std::string{'%', kDigits[byte >> 4U], kDigits[byte & 15U]};
  }
  // A segment of dots would climb.
  if (out == ".") return "%2E";
  return out == ".." ? "%2E%2E" : out;
}

/// Bodies are the user's own and small, so that recursion has an end.
void fill_texts(Json& value, const TemplateValues& values) {
  if (value.is_string()) {
    value = fill(value.get_ref<const std::string&>(), values, [](const std::string& text) { return text; });
  }
  if (!value.is_structured()) return;
  for (auto& each : value) fill_texts(each, values);
}

std::vector<std::string> segments_of(std::string_view pointer) {
  std::vector<std::string> out;
  while (!pointer.empty()) {
    pointer.remove_prefix(1);
    const std::size_t end = std::min(pointer.find('/'), pointer.size());
    std::string segment;
    for (std::size_t i = 0; i < end; ++i) {
      const bool escaped = pointer[i] == '~' && i + 1 < end;
      segment += !escaped ? pointer[i] : pointer[i + 1] == '1' ? '/' : '~';
      i += escaped ? 1 : 0;
    }
    out.push_back(std::move(segment));
    pointer.remove_prefix(end);
  }
  return out;
}

}  // namespace

std::vector<std::string> template_names(std::string_view text) {
  std::vector<std::string> out;
  for (std::size_t open = text.find("{{"); open != std::string_view::npos; open = text.find("{{", open)) {
    const std::size_t close = text.find("}}", open);
    if (close == std::string_view::npos) break;
    out.emplace_back(text.substr(open + 2, close - open - 2));
    open = close + 2;
  }
  return out;
}

std::vector<std::string> names_in_keys(const std::string& body) {
  std::vector<std::string> out;
  const auto look = [&out](int, Json::parse_event_t event, const Json& parsed) {
    if (event != Json::parse_event_t::key) return true;
    for (std::string& name : template_names(parsed.get_ref<const std::string&>())) out.push_back(std::move(name));
    return true;
  };
  const Json whole = Json::parse(body, look, false);
  return whole.is_discarded() ? std::vector<std::string>() : out;
}

std::string fill_path(std::string_view path, const TemplateValues& values) {
  return fill(path, values, percent_encoded);
}

std::string fill_body(const std::string& body, const TemplateValues& values) {
  if (body.empty()) return {};
  TemplateValues clean;
  for (const auto& [name, value] : values) clean.emplace(name, to_valid_utf8(value));
  Json json = Json::parse(body, nullptr, false);
  fill_texts(json, clean);
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

bool is_json_path(std::string_view pointer) {
  if (!pointer.empty() && pointer.front() != '/') return false;
  for (std::size_t at = pointer.find('~'); at != std::string_view::npos; at = pointer.find('~', at + 1)) {
    if (at + 1 >= pointer.size() || (pointer[at + 1] != '0' && pointer[at + 1] != '1')) return false;
  }
  return true;
}

std::vector<const nlohmann::json*> at_json_path(const nlohmann::json& document, std::string_view pointer) {
  std::vector<const nlohmann::json*> here = {&document};
  for (const std::string& segment : segments_of(pointer)) {
    std::vector<const nlohmann::json*> next;
    for (const nlohmann::json* value : here) {
      if (value->is_array() && segment == "*") {
        for (const auto& each : *value) next.push_back(&each);
      } else if (value->is_array()) {
        std::size_t index = 0;
        const char* end = segment.data() + segment.size();
        const auto [rest, problem] = std::from_chars(segment.data(), end, index);
        if (problem == std::errc() && rest == end && index < value->size()) next.push_back(&(*value)[index]);
      } else if (value->is_object()) {
        if (const auto found = value->find(segment); found != value->end()) next.push_back(&*found);
      }
    }
    here = std::move(next);
  }
  return here;
}

}  // namespace casemate
