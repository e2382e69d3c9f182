#include "formats/folder_walk.h"

#include <limits.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "casemate/core/file_system.h"

namespace casemate {
namespace {

struct Free {
  void operator()(char* text) const { std::free(text); }
};

/// The path without links; empty where it leads nowhere.
std::string real_path(const std::string& path) {
  const std::unique_ptr<char, Free> real(::realpath(path.c_str(), nullptr));
  return real ? std::string(real.get()) : std::string();
}

bool is_below(const std::string& path, const std::string& root) {
  return path == root || root == "/" || (path.starts_with(root) && path[root.size()] == '/');
}

class Walk {
 public:
  Walk(std::string root, ReadContext& context, const std::function<Status(const FoundFile&)>& visit)
      : root_(std::move(root)), context_(context), visit_(visit) {}

  Status run() {
    struct stat status {};
    if (::stat(root_.c_str(), &status) != 0) {
      context_.problem(root_, io_error(errno, "open", shown_path(root_)));
      return {};
    }
    if (!S_ISDIR(status.st_mode)) {
      const std::size_t slash = root_.rfind('/');
      return visit_(
          {root_, slash == std::string::npos ? root_ : root_.substr(slash + 1), real_path(parent_path(root_))});
    }
    real_root_ = real_path(root_);
    return folder(root_, "", status, 0);
  }

 private:
  /// Recursion is bounded by max_folder_depth.
  Status folder(const std::string& path, const std::string& name, const struct stat& status, int depth) {
    if (depth > context_.limits().max_folder_depth) {
      context_.problem(path, 0, ErrorCode::kLimit,
                       "folders nest deeper than " + std::to_string(context_.limits().max_folder_depth) +
                           " (limits.max_folder_depth)");
      return {};
    }
    const auto [seen, fresh] = visited_.try_emplace({status.st_dev, status.st_ino}, path);
    if (!fresh) {
      context_.problem(path, 0, ErrorCode::kInvalidInput,
                       "is the same folder as " + shown_path(seen->second) +
                           " (a link that loops or repeats); it is not read again");
      return {};
    }
    const auto names = FileSystem::posix().list(path);
    if (!names) return context_.problem(path, Error{names.error().code, shown_path(names.error().message)}), Status{};
    for (const std::string& entry : *names) {
      if (entry.starts_with('.') && !context_.options().include_hidden_files) {
        ++context_.summary().hidden_files_skipped;
        continue;
      }
      const Status step = one(join_path(path, entry), name.empty() ? entry : name + "/" + entry, depth);
      if (!step) return step;
    }
    return {};
  }

  Status one(const std::string& path, const std::string& name, int depth) {
    struct stat link {};
    struct stat status {};
    if (::lstat(path.c_str(), &link) != 0)
      return context_.problem(path, io_error(errno, "inspect", shown_path(path))), Status{};
    if (::stat(path.c_str(), &status) != 0) {
      const char* what = S_ISLNK(link.st_mode) && errno == ENOENT ? "follow the link" : "inspect";
      return context_.problem(path, io_error(errno, what, shown_path(path))), Status{};
    }
    if (S_ISLNK(link.st_mode) && !context_.options().follow_outside_links && !is_below(real_path(path), real_root_)) {
      context_.problem(
          path, 0, ErrorCode::kPermission,
          "is a link that leads out of " + shown_path(root_) + "; it is not followed (follow_outside_links)");
      return {};
    }
    if (S_ISDIR(status.st_mode)) return folder(path, name, status, depth + 1);
    return visit_({path, name, real_root_});
  }

  std::string root_;
  std::string real_root_;
  ReadContext& context_;
  const std::function<Status(const FoundFile&)>& visit_;
  std::map<std::pair<dev_t, ino_t>, std::string> visited_;
};

}  // namespace

Status walk_files(const std::string& root, ReadContext& context, const std::function<Status(const FoundFile&)>& visit) {
  std::string path = root;
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return Walk(path, context, visit).run();
}

}  // namespace casemate
