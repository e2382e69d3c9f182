#include "models/wheel_cache.h"

#include <filesystem>
#include <system_error>

#include "casemate/core/child_process.h"
#include "casemate/core/file_system.h"

namespace casemate {
namespace {

namespace fs = std::filesystem;

std::uint64_t bytes_below(const std::string& folder) {
  std::uint64_t sum = 0;
  std::error_code code;
  // Files come and go while pip works: what has gone counts nothing.
  for (fs::recursive_directory_iterator at(folder, code), end; !code && at != end; at.increment(code)) {
    std::error_code gone;
    if (!at->is_regular_file(gone) || gone) continue;
    const std::uint64_t size = at->file_size(gone);
    if (!gone) sum += size;
  }
  return sum;
}

/// The only wheel in `folder`, or nothing.
std::string wheel_in(const std::string& folder) {
  const auto names = FileSystem::posix().list(folder);
  if (!names) return {};
  for (const std::string& name : *names) {
    if (name.ends_with(".whl")) return join_path(folder, name);
  }
  return {};
}

void remove_folder(const std::string& folder) {
  std::error_code ignored;
  fs::remove_all(folder, ignored);
}

bool says_no_space(const std::string& output) {
  return output.find("No space left on device") != std::string::npos || output.find("[Errno 28]") != std::string::npos;
}

/// The line that says most: pip's last error where it marks one.
std::string reason(const std::string& output) {
  const std::size_t error = output.rfind("ERROR:");
  if (error == std::string::npos) return last_line(output);
  return last_line(output.substr(error, output.find('\n', error) - error));
}

}  // namespace

Result<std::string> WheelCache::get(const std::string& package, const std::stop_token& stop,
                                    const std::function<void(std::uint64_t)>& on_bytes) {
  if (options_.pip_program.empty()) {
    return Error{ErrorCode::kUnavailable, "python3 is not here (install python3 and python3-pip)"};
  }
  const std::string target = join_path(folder_, package);
  if (std::string wheel = wheel_in(target); !wheel.empty()) return wheel;
  // pip copies the finished wheel into its target, which an interruption can cut short; the rename cannot be.
  const std::string work = target + ".tmp";
  remove_folder(work);
  remove_folder(target);
  FileSystem& files = FileSystem::posix();
  for (const std::string& made : {join_path(work, "out"), join_path(work, "tmp")}) {
    if (Status status = files.create_directories(made); !status) return status.error();
  }
  const Status fetched = run_pip(package, work, stop, on_bytes);
  const std::string out = join_path(work, "out");
  if (fetched.ok() && wheel_in(out).empty()) {
    remove_folder(work);
    return Error{ErrorCode::kUnavailable, package + ": pip gave no wheel"};
  }
  Status moved = fetched.ok() ? files.rename(out, target) : fetched;
  remove_folder(work);
  if (!moved) return moved.error();
  return wheel_in(target);
}

Status WheelCache::run_pip(const std::string& package, const std::string& target, const std::stop_token& stop,
                           const std::function<void(std::uint64_t)>& on_bytes) const {
  ChildRun run;
  run.trusted = true;
  run.merge_errors = true;
  run.keep_tail = true;
  run.output_bytes = 64U * 1024;
  run.program = options_.pip_program;
  run.arguments = {"-m",
                   "pip",
                   "download",
                   "--quiet",
                   "--no-input",
                   "--disable-pip-version-check",
                   "--no-deps",
                   "--no-cache-dir",
                   "--only-binary",
                   ":all:",
                   "-d",
                   join_path(target, "out"),
                   package};
  for (const std::string& variable : options_.pip_environment) {
    if (!variable.starts_with("TMPDIR=")) run.environment.push_back(variable);
  }
  run.environment.push_back("TMPDIR=" + join_path(target, "tmp"));
  run.timeout_ms = options_.pip_timeout_ms;
  run.on_tick = [&] { on_bytes(bytes_below(target)); };
  const Result<ChildOutput> output = run_child(run, stop);
  if (!output) {
    const bool absent = output.error().code == ErrorCode::kNotFound;
    return absent ? Error{ErrorCode::kUnavailable, output.error().message} : output.error();
  }
  if (output->exit_code == 0) return {};
  if (says_no_space(output->out)) {
    return Error{ErrorCode::kNoSpace, target + ": no space left for " + package + " (make room and run it again)"};
  }
  return Error{ErrorCode::kUnavailable, "pip " + describe_end(*output) + " on " + package + ": " + reason(output->out)};
}

void WheelCache::drop(const std::string& package) const { remove_folder(join_path(folder_, package)); }
void WheelCache::drop_all() const { remove_folder(folder_); }

}  // namespace casemate
