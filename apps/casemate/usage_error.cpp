#include "usage_error.h"

#include <algorithm>
#include <vector>

#include "casemate/core/nearest_name.h"
#include "casemate/core/untrusted_text.h"

namespace casemate::cli {
namespace {

/// The command that was given, down to "models pull", and those above it.
std::vector<const CLI::App*> given_commands(const CLI::App& app) {
  std::vector<const CLI::App*> path = {&app};
  while (true) {
    const auto below = path.back()->get_subcommands();
    if (below.empty()) return path;
    path.push_back(below.front());
  }
}

std::string unknown_option(const std::string& word, const std::vector<const CLI::App*>& commands) {
  const std::string name = word.substr(0, word.find('='));
  std::vector<std::string> known;
  for (auto command = commands.rbegin(); command != commands.rend(); ++command) {
    for (const CLI::Option* option : (*command)->get_options()) {
      for (const std::string& each : option->get_lnames()) {
        if (std::find(known.begin(), known.end(), "--" + each) == known.end()) known.push_back("--" + each);
      }
    }
  }
  return "there is no option \"" + UntrustedText(name).for_log() + "\"" + name_hint(name, known);
}

std::string unknown_command(const std::string& word, const CLI::App& app) {
  std::vector<std::string> known;
  for (const CLI::App* each : app.get_subcommands([](const CLI::App*) { return true; }))
    known.push_back(each->get_name());
  return "there is no command \"" + UntrustedText(word).for_log() + "\"" + name_hint(word, known);
}

}  // namespace

std::string describe_usage_error(const CLI::App& app, const CLI::ParseError& error) {
  const std::string plain = UntrustedText(error.what()).for_terminal();
  // A misspelt word also leaves a required one missing, which is then reported in its place.
  const bool may_be_misspelt = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr ||
                               dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
  const std::vector<std::string> left = app.remaining(true);
  if (!may_be_misspelt || left.empty()) return plain;
  const auto commands = given_commands(app);
  const CLI::App& last = *commands.back();
  const auto option = std::find_if(left.begin(), left.end(), [](const std::string& word) {
    return word.size() > 1 && word.front() == '-' && word != "--";
  });
  const bool wants_command = last.get_require_subcommand_min() > 0;
  if (wants_command && (option == left.end() || option != left.begin())) return unknown_command(left.front(), last);
  if (option != left.end()) return unknown_option(*option, commands);
  return "\"" + UntrustedText(left.front()).for_log() + "\" was not expected";
}

}  // namespace casemate::cli
