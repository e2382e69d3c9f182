#include "serve_reload.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <optional>

#include "apps/server/key_store.h"
#include "casemate/core/untrusted_text.h"
#include "casemate/core/yaml_options.h"

namespace casemate::cli {
namespace {

/// One option: how it is written, and how it is read.
struct Entry {
  const char* name;
  std::function<std::string(const Reloadable&)> show;
  std::function<bool(Reloadable&, const std::string&)> read;  ///< false: not a value that it may have
  const char* range;
};

/// A whole number in [low, high] at the place that `at` gives.
template <typename At>
Entry number(const char* name, std::int64_t low, std::int64_t high, const char* range, At at) {
  const auto show = [at](const Reloadable& from) { return std::to_string(at(const_cast<Reloadable&>(from))); };
  const auto read = [at, low, high](Reloadable& into, const std::string& text) {
    std::int64_t value = 0;
    const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (wrong != std::errc() || end != text.data() + text.size() || value < low || value > high) return false;
    auto& place = at(into);
    place = static_cast<std::remove_reference_t<decltype(place)>>(value);
    return true;
  };
  return {name, show, read, range};
}

Entry role(const char* name) {
  return {name, [](const Reloadable& from) { return std::string(server::role_name(from.settings.scores_for)); },
          [](Reloadable& into, const std::string& text) {
            const auto parsed = server::parse_role(text);
            if (parsed) into.settings.scores_for = *parsed;
            return parsed.ok();
          },
          "reader, writer or admin"};
}

template <typename At>
Entry flag(const char* name, bool turned, At at) {
  return {
      name,
      [at, turned](const Reloadable& from) { return at(const_cast<Reloadable&>(from)) != turned ? "true" : "false"; },
      [at, turned](Reloadable& into, const std::string& text) {
        if (text != "true" && text != "false") return false;
        at(into) = (text == "true") != turned;
        return true;
      },
      "true or false"};
}

constexpr std::int64_t kMostBytes = std::int64_t{1} << 40;
constexpr const char* kTime = "in [10, 3600000]";

const std::vector<Entry>& entries() {
  static const std::vector<Entry> table = {
      number(
          "max-top-k", 1, 1000, "in [1, 1000]", [](Reloadable & r) -> auto& { return r.settings.limits.max_top_k; }),
      number(
          "max-documents", 1, kMostBytes, "at least 1",
          [](Reloadable & r) -> auto& { return r.settings.limits.max_documents; }),
      number(
          "max-question-bytes", 1, kMostBytes, "at least 1",
          [](Reloadable & r) -> auto& { return r.settings.limits.max_question_bytes; }),
      number(
          "max-question-tokens", 0, kMostBytes, "at least 0",
          [](Reloadable & r) -> auto& { return r.settings.limits.max_question_tokens; }),
      number(
          "requests-per-minute", 0, 1'000'000, "in [0, 1000000]",
          [](Reloadable & r) -> auto& { return r.requests_per_minute; }),
      number(
          "idle-timeout-ms", 10, 3'600'000, kTime, [](Reloadable & r) -> auto& { return r.timeouts.idle_timeout_ms; }),
      number(
          "header-timeout-ms", 10, 3'600'000, kTime,
          [](Reloadable & r) -> auto& { return r.timeouts.header_timeout_ms; }),
      number(
          "body-timeout-ms", 10, 3'600'000, kTime, [](Reloadable & r) -> auto& { return r.timeouts.body_timeout_ms; }),
      number(
          "write-timeout-ms", 10, 3'600'000, kTime,
          [](Reloadable & r) -> auto& { return r.timeouts.write_timeout_ms; }),
      number(
          "request-timeout-ms", 10, 3'600'000, kTime,
          [](Reloadable & r) -> auto& { return r.timeouts.request_timeout_ms; }),
      number(
          "drain-timeout-ms", 0, 3'600'000, "in [0, 3600000]",
          [](Reloadable & r) -> auto& { return r.timeouts.drain_timeout_ms; }),
      role("scores-for"),
      flag(
          "log-requests", false, [](Reloadable & r) -> auto& { return r.log_requests; }),
      flag(
          "no-system-messages", true, [](Reloadable & r) -> auto& { return r.settings.system_messages; }),
  };
  return table;
}

/// The first of "a,b".
std::string first_of(const std::string& names) { return names.substr(0, names.find(',')); }

std::set<std::string> names_of(const std::string& names) {
  std::set<std::string> out;
  for (std::size_t at = 0; at <= names.size();) {
    const std::size_t end = std::min(names.find(',', at), names.size());
    out.insert(names.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

std::string value_of(const ServeSection& section, const std::string& name) {
  const auto found = section.find(name);
  return found == section.end() ? std::string() : found->second;
}

}  // namespace

Result<ServeSection> read_serve_section(const std::string& config_file) {
  if (config_file.empty()) return Error{ErrorCode::kNotFound, "the server was started without --config"};
  const auto root = YamlValue::parse_file(config_file);
  if (!root) return root.error();
  ServeSection out;
  const auto section = root->find("serve");
  if (!section) return out;
  for (const std::string& key : section->keys()) {
    const YamlValue value = *section->find(key);
    if (value.is_null()) continue;
    std::string name = key;
    std::replace(name.begin(), name.end(), '_', '-');
    if (!value.is_list()) {
      auto text = value.text();
      if (!text) return text.error();
      out[name] = *std::move(text);
      continue;
    }
    const auto texts = value.texts();
    if (!texts) return texts.error();
    std::string& joined = out[name];
    for (const std::string& text : *texts) joined += (joined.empty() ? "" : ",") + text;
  }
  return out;
}

Result<Reload> reload_from(const ServeSection& section, const ServeSection& at_start, const Reloadable& running,
                           const Reloadable& defaults, const std::set<std::string>& fixed) {
  Reload out{running, {}, {}};
  // What an earlier reload has applied is not applied again: tenants may have chosen since.
  out.now.policy.clear();
  std::set<std::string> known = {"policy"};
  for (const Entry& entry : entries()) {
    known.insert(entry.name);
    if (fixed.contains(entry.name)) continue;
    const auto given = section.find(entry.name);
    const std::string text = given == section.end() ? entry.show(defaults) : given->second;
    if (!entry.read(out.now, text)) {
      return Error{ErrorCode::kInvalidOption, "serve: " + std::string(entry.name) + " is \"" +
                                                  UntrustedText(text).for_log(60) + "\"; it must be " + entry.range};
    }
    const std::string before = entry.show(running);
    const std::string after = entry.show(out.now);
    if (before != after) out.changed.push_back(std::string(entry.name) + ": " + before + " -> " + after);
  }
  const std::string policies = value_of(section, "policy");
  if (!policies.empty() && !fixed.contains("policy")) {
    out.now.policy = first_of(policies);
    const auto before = names_of(value_of(at_start, "policy"));
    const auto after = names_of(policies);
    // Those that the server began with can be chosen among; others were never made.
    if (!std::includes(before.begin(), before.end(), after.begin(), after.end()) && after.size() > 1)
      out.needs_restart.emplace_back("policy");
  }
  std::set<std::string> others;
  for (const ServeSection* each : {&section, &at_start}) {
    for (const auto& [name, text] : *each) {
      if (!known.contains(name)) others.insert(name);
    }
  }
  for (const std::string& name : others) {
    if (!fixed.contains(name) && value_of(section, name) != value_of(at_start, name)) out.needs_restart.push_back(name);
  }
  return out;
}

std::vector<std::string> reloadable_options() {
  std::vector<std::string> out = {"policy"};
  for (const Entry& entry : entries()) out.emplace_back(entry.name);
  return out;
}

}  // namespace casemate::cli
