#include "casemate/models/doctor.h"

#include <unistd.h>

#include <algorithm>
#include <array>

#include "casemate/core/child_process.h"
#include "casemate/core/file_system.h"
#include "casemate/core/untrusted_text.h"
#include "models/doctor_checks.h"

namespace casemate {
namespace {

constexpr std::array<std::string_view, 4> kStatuses = {"ok", "warning", "missing", "failed"};
constexpr int kProgramTimeoutMs = 20'000;

std::string first_line(const std::string& text) { return UntrustedText(text.substr(0, text.find('\n'))).for_log(200); }

/// What `program` says of itself, as an item.
DoctorItem ask_program(std::string name, const std::string& program, std::vector<std::string> arguments,
                       const std::vector<std::string>& environment, const std::string& remedy) {
  DoctorItem item{std::move(name), DoctorStatus::kOk, {}, {}};
  ChildRun run;
  run.program = program;
  run.arguments = std::move(arguments);
  run.environment = environment;
  run.timeout_ms = kProgramTimeoutMs;
  run.trusted = true;
  run.merge_errors = true;
  run.keep_tail = true;
  run.output_bytes = 64U * 1024;
  const Result<ChildOutput> output = run_child(run);
  if (output.ok() && output->exit_code == 0) {
    item.detail = first_line(output->out) + " (" + program + ")";
    return item;
  }
  item.status = DoctorStatus::kFailed;
  item.detail = program + ": " + (output.ok() ? last_line(output->out) : output.error().message);
  item.remedy = remedy;
  return item;
}

}  // namespace

std::string_view doctor_status_name(DoctorStatus status) noexcept {
  return kStatuses[static_cast<std::size_t>(status)];
}

std::string find_program(std::string_view name, std::string_view search_path) {
  while (!name.empty() && name.find('/') == std::string_view::npos) {
    const std::size_t end = std::min(search_path.find(':'), search_path.size());
    // A folder that is not absolute would mean another program wherever we stand.
    if (search_path.starts_with('/')) {
      std::string path = join_path(search_path.substr(0, end), name);
      const Result<FileInfo> info = FileSystem::posix().info(path);
      if (info.ok() && info->is_regular && ::access(path.c_str(), X_OK) == 0) return path;
    }
    if (end == search_path.size()) break;
    search_path.remove_prefix(end + 1);
  }
  return {};
}

void check_programs(const DoctorOptions& options, std::vector<DoctorItem>& items) {
  const std::string pdftotext =
      options.pdftotext_program.empty() ? find_program("pdftotext", options.search_path) : options.pdftotext_program;
  const std::string install_poppler = "apt-get install poppler-utils";
  if (pdftotext.empty()) {
    items.push_back({"pdftotext", DoctorStatus::kMissing, "PDF files cannot be read without it", install_poppler});
  } else {
    items.push_back(ask_program("pdftotext", pdftotext, {"-v"}, {}, install_poppler));
  }
  if (!options.reader_program.empty()) {
    const bool there = ::access(options.reader_program.c_str(), X_OK) == 0;
    items.push_back({"casemate-reader", there ? DoctorStatus::kOk : DoctorStatus::kMissing,
                     there ? options.reader_program
                           : options.reader_program + ": not there; HTML and Markdown cannot be read without it",
                     there ? "" : "install Casemate as a whole: the helper lies beside the program"});
  }
  const std::string python = find_program("python3", options.search_path);
  const std::string install_pip = "apt-get install python3-pip";
  if (python.empty()) {
    items.push_back(
        {"pip", DoctorStatus::kWarning, "python3 is not here; only `models pull` from PyPI needs it", install_pip});
    return;
  }
  DoctorItem pip = ask_program("pip", python, {"-m", "pip", "--version"}, options.environment, install_pip);
  if (pip.status != DoctorStatus::kOk) {
    pip.status = DoctorStatus::kWarning;
    pip.detail += "; only `models pull` from PyPI needs it";
  }
  items.push_back(std::move(pip));
}

void check_models(const ModelStore& models, std::vector<DoctorItem>& items) {
  const auto list = models.list();
  if (!list) {
    items.push_back({"models", DoctorStatus::kFailed, list.error().message, "make the folder readable"});
    return;
  }
  for (const StoredModel& model : *list) {
    DoctorItem item{"model " + model.entry.name, DoctorStatus::kOk, {}, model.remedy};
    item.detail = std::string(model_purpose_name(model.entry.purpose)) + ", " +
                  std::string(model_state_name(model.state)) + (model.detail.empty() ? "" : ": " + model.detail);
    if (model.state == ModelState::kDamaged) {
      item.status = DoctorStatus::kFailed;
    } else if (model.state != ModelState::kPresent) {
      item.status = DoctorStatus::kMissing;
    }
    items.push_back(std::move(item));
  }
}

std::vector<DoctorItem> run_doctor(const DoctorOptions& options, const ModelStore& models) {
  std::vector<DoctorItem> items;
  check_machine(options, items);
  check_libraries(items);
  check_programs(options, items);
  check_models(models, items);
  items.insert(items.end(), options.extra.begin(), options.extra.end());
  return items;
}

}  // namespace casemate
