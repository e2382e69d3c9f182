#include <hwy/highway.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <optional>
#include <system_error>

#include "casemate/core/clock.h"
#include "casemate/core/file_system.h"
#include "casemate/core/thread_pool.h"
#include "models/doctor_checks.h"
#include "models/part_file.h"

namespace casemate {
namespace {

constexpr std::uint64_t kMegabyte = 1'000'000;
constexpr std::uint64_t kWantMemoryBytes = 2'000 * kMegabyte;
constexpr std::int64_t kOldestSaneTime = 1'767'225'600;  // 2026-01-01
constexpr std::int64_t kNewestSaneTime = 4'102'444'800;  // 2100-01-01

std::string megabytes(std::uint64_t bytes) { return std::to_string(bytes / kMegabyte) + " MB"; }

DoctorItem check_cpu() {
  DoctorItem item{"cpu", DoctorStatus::kOk, {}, {}};
  std::string runs;
  std::string traps;
  for (const CpuFeature& feature : probe_cpu_features()) {
    if (feature.runs) runs += " " + feature.name;
    if (feature.announced && !feature.runs) traps += " " + feature.name;
  }
  item.detail = runs.empty() ? "no x86-64 extensions" : "runs" + runs;
  if (traps.empty()) return item;
  item.status = DoctorStatus::kWarning;
  item.detail += "; announced, but its instructions trap here:" + traps;
  item.remedy =
      "nothing to do for Casemate, which does not use what traps; never build llama.cpp with -march=native here";
  return item;
}

DoctorItem check_simd() {
  const std::int64_t targets = hwy::SupportedTargets();
  // Highway gives better instruction sets lower bits.
  const std::int64_t best = targets & -targets;
  return {"simd", DoctorStatus::kOk, std::string("kernels run as ") + hwy::TargetName(best), {}};
}

DoctorItem check_cores() {
  const int allowed = ThreadPool::available_cores();
  const long machine = ::sysconf(_SC_NPROCESSORS_ONLN);
  return {"cores",
          DoctorStatus::kOk,
          std::to_string(allowed) + " of the machine's " + std::to_string(machine) + " may be used",
          {}};
}

/// Files of /proc and /sys say that their size is 0, so they are read to their end.
std::string read_system_file(const char* path) {
  std::string text;
  if (std::FILE* file = std::fopen(path, "re")) {
    char buffer[4096];
    text.assign(buffer, std::fread(buffer, 1, sizeof buffer, file));
    std::fclose(file);
  }
  return text;
}

std::optional<std::uint64_t> number_in(std::string_view text) {
  const std::size_t begin = text.find_first_of("0123456789");
  if (begin == std::string_view::npos) return std::nullopt;
  std::uint64_t value = 0;
  const auto [end, code] = std::from_chars(text.data() + begin, text.data() + text.size(), value);
  if (code != std::errc()) return std::nullopt;
  return value;
}

DoctorItem check_memory() {
  DoctorItem item{"memory", DoctorStatus::kOk, {}, {}};
  const std::string info = read_system_file("/proc/meminfo");
  const auto field = [&](std::string_view name) -> std::optional<std::uint64_t> {
    const std::size_t at = info.find(name);
    if (at == std::string::npos) return std::nullopt;
    const auto kibibytes = number_in(std::string_view(info).substr(at, info.find('\n', at) - at));
    return kibibytes ? std::optional(*kibibytes * 1024) : std::nullopt;
  };
  const auto total = field("MemTotal:");
  auto available = field("MemAvailable:");
  if (!total || !available) {
    item.status = DoctorStatus::kWarning;
    item.detail = "the system does not tell";
    return item;
  }
  item.detail = megabytes(*available) + " free of " + megabytes(*total);
  // A container may have less than the machine.
  const std::string group = read_system_file("/sys/fs/cgroup/memory.max");
  if (const auto limit = number_in(group); limit && *limit < *total) {
    item.detail += ", this container is limited to " + megabytes(*limit);
    available = std::min(*available, *limit);
  }
  if (*available >= kWantMemoryBytes) return item;
  item.status = DoctorStatus::kWarning;
  item.remedy = "free some memory: the default models and a store want " + megabytes(kWantMemoryBytes);
  return item;
}

DoctorItem check_cache(const DoctorOptions& options) {
  DoctorItem item{"cache", DoctorStatus::kOk, options.cache_folder, {}};
  FileSystem& files = FileSystem::posix();
  const std::string probe =
      join_path(options.cache_folder, ".doctor-" + std::to_string(static_cast<long>(::getpid())) + ".tmp");
  Status written = files.create_directories(options.cache_folder);
  if (written.ok()) written = write_file_atomically(files, probe, "casemate doctor\n");
  (void)files.remove(probe);
  if (!written) {
    item.status = DoctorStatus::kFailed;
    item.detail = written.error().message;
    item.remedy = "make the folder writable, or set XDG_CACHE_HOME to one that is";
    return item;
  }
  const Result<std::uint64_t> room = free_bytes(options.cache_folder);
  if (!room) {
    item.status = DoctorStatus::kWarning;
    item.detail = room.error().message;
    return item;
  }
  item.detail += " is writable, " + megabytes(*room) + " free";
  if (*room >= options.want_free_bytes) return item;
  item.status = DoctorStatus::kWarning;
  item.remedy = "make room: models and indexes want " + megabytes(options.want_free_bytes);
  return item;
}

DoctorItem check_clock() {
  const std::int64_t now = Clock::system().unix_seconds();
  DoctorItem item{"clock", DoctorStatus::kOk, format_utc(now), {}};
  if (now >= kOldestSaneTime && now < kNewestSaneTime) return item;
  item.status = DoctorStatus::kWarning;
  item.detail += " cannot be right: certificates, keys and audit records carry the time, and TLS will fail";
  item.remedy = "set the system's clock";
  return item;
}

}  // namespace

void check_machine(const DoctorOptions& options, std::vector<DoctorItem>& items) {
  items.push_back(check_cpu());
  items.push_back(check_simd());
  items.push_back(check_cores());
  items.push_back(check_memory());
  items.push_back(check_cache(options));
  items.push_back(check_clock());
}

}  // namespace casemate
