#include "eval/run_folder.h"

#include "casemate/core/file_system.h"

namespace casemate {

Status claim_run_folder(const std::string& out, std::initializer_list<const char*> folders,
                        const std::string& experiment) {
  FileSystem& files = FileSystem::posix();
  for (const char* folder : folders) {
    if (Status made = files.create_directories(join_path(out, folder)); !made) return made;
  }
  const std::string path = join_path(out, "experiment.json");
  const auto before = read_file(path);
  if (!before && before.error().code != ErrorCode::kNotFound) return before.error();
  if (!before) return write_file_atomically(files, path, experiment);
  if (*before == experiment) return {};
  return Error{ErrorCode::kMismatch,
               out +
                   ": holds a run of another experiment, data set, model, prompt or sample (experiment.json); use "
                   "another --out folder or remove this one"};
}

}  // namespace casemate
