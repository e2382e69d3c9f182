#include "defaults.h"

#include <algorithm>
#include <cstdlib>

#include "casemate/core/nearest_name.h"
#include "casemate/core/untrusted_text.h"
#include "casemate/core/yaml_options.h"

namespace casemate::cli {
namespace {

std::string with_dashes(std::string name) {
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

/// The long name of an option that can be configured; empty for positionals and --help.
std::string long_name(const CLI::Option* option) {
  if (option->get_lnames().empty() || !option->get_configurable()) return "";
  const std::string& name = option->get_lnames().front();
  return name == "help" || name == "version" || name == "config" ? "" : name;
}

CLI::Option* find_option(CLI::App& app, const std::string& name) {
  for (CLI::Option* option : app.get_options()) {
    if (!name.empty() && long_name(option) == name) return option;
  }
  return nullptr;
}

Status set_default(CLI::Option& option, const std::string& value, const std::string& where) {
  try {
    option.default_val(value);
    option.required(false);  // it has a value now
  } catch (const CLI::Error& error) {
    return Error{ErrorCode::kInvalidOption, where + ": " + UntrustedText(error.what()).for_log()};
  }
  return {};
}

Result<std::string> scalar_or_list(const YamlValue& value) {
  if (!value.is_list()) return value.text();
  const auto texts = value.texts();
  if (!texts) return texts.error();
  std::string joined;
  for (const std::string& text : *texts) joined += (joined.empty() ? "" : ",") + text;
  return joined;
}

Status apply_section(CLI::App& app, const YamlValue& section, bool top_level) {
  for (const std::string& key : section.keys()) {
    const YamlValue value = *section.find(key);
    if (value.is_null()) continue;
    CLI::App* command = nullptr;
    std::vector<std::string> known;
    for (CLI::App* each : app.get_subcommands([](CLI::App*) { return true; })) {
      known.push_back(each->get_name());
      if (each->get_name() == key) command = each;
    }
    if (command != nullptr && value.is_map()) {
      if (Status applied = apply_section(*command, value, false); !applied) return applied;
      continue;
    }
    CLI::Option* option = find_option(app, with_dashes(key));
    if (option == nullptr) {
      for (const CLI::Option* each : app.get_options()) known.push_back(long_name(each));
      std::erase(known, "");
      const std::string what =
          top_level ? "is neither a global option nor a command" : "is not an option of this command";
      return value.error(ErrorCode::kInvalidOption,
                         "\"" + UntrustedText(key).for_log() + "\" " + what + name_hint(key, known));
    }
    const auto text = scalar_or_list(value);
    if (!text) return text.error();
    if (Status set = set_default(*option, *text, value.error(ErrorCode::kInvalidOption, "").message); !set) return set;
  }
  return {};
}

Status apply_variables(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    const std::string name = long_name(option);
    if (name.empty()) continue;
    const std::string variable = variable_name(name);
    const char* value = std::getenv(variable.c_str());
    if (value == nullptr || *value == '\0') continue;
    if (Status set = set_default(*option, value, variable); !set) return set;
  }
  for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; })) {
    if (Status applied = apply_variables(*command); !applied) return applied;
  }
  return {};
}

}  // namespace

std::string variable_name(const std::string& option) {
  std::string name = "CASEMATE_";
  for (const char c : option) name += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

Status apply_defaults(CLI::App& app, const std::string& config_file) {
  if (!config_file.empty()) {
    const auto root = YamlValue::parse_file(config_file);
    if (!root) return root.error();
    if (!root->is_map() && !root->is_null()) return root->error(ErrorCode::kInvalidInput, "must be a map of options");
    if (Status applied = apply_section(app, *root, true); !applied) return applied;
  }
  return apply_variables(app);
}

}  // namespace casemate::cli
