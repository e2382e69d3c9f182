// casemate/models/doctor.h
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "casemate/models/model_store.h"

namespace casemate {

enum class DoctorStatus : std::uint8_t {
  kOk,
  kWarning,  ///< it works, but slower or less than it could
  kMissing,  ///< not here; something that needs it will not work
  kFailed,   ///< here, and does not work
};
/// "ok", "warning", "missing" or "failed".
[[nodiscard]] std::string_view doctor_status_name(DoctorStatus status) noexcept;

struct DoctorItem {
  std::string name;  ///< "cpu", "simd", "pdftotext", "model all-minilm-l6-v2"
  DoctorStatus status = DoctorStatus::kOk;
  std::string detail;
  std::string remedy;  ///< a command or an instruction; empty where there is nothing to mend
};

struct DoctorOptions {
  std::string cache_folder;              ///< must be writable or creatable
  std::string search_path;               ///< folders with ":" between, where programs are looked for (PATH)
  std::string reader_program;            ///< absolute path of casemate-reader; empty: not checked
  std::string pdftotext_program;         ///< absolute path; empty: looked for in `search_path`
  std::vector<std::string> environment;  ///< NAME=value, for python3
  std::uint64_t want_free_bytes = UINT64_C(2'000'000'000);  ///< below this much free disk is a warning
  std::vector<DoctorItem> extra;                            ///< what only the caller knows; appended as it is
};

/// Looks at this machine: processor, memory, libraries, programs, models. Nothing is changed but for a file written and
/// removed in the cache folder; no connection is opened. Takes about a second. A check that cannot be made is an item
/// that says so, never an error.
[[nodiscard]] std::vector<DoctorItem> run_doctor(const DoctorOptions& options, const ModelStore& models);

/// A processor feature, and whether its instructions run: a virtual machine may announce what it traps.
struct CpuFeature {
  std::string name;        ///< "avx2", "amx"
  bool announced = false;  ///< by CPUID and the system
  bool runs = false;       ///< executed in a child process; false where not announced
};
/// In a fixed order; empty on processors other than x86-64. Forks; safe in a program with threads.
[[nodiscard]] std::vector<CpuFeature> probe_cpu_features();

/// The absolute path of the first executable `name` in the ":"-separated folders; empty where there is none.
[[nodiscard]] std::string find_program(std::string_view name, std::string_view search_path);

}  // namespace casemate
