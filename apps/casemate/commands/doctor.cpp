#include "casemate/models/doctor.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <iomanip>
#include <iostream>
#include <nlohmann/json.hpp>

#include "command.h"
#include "environment.h"

namespace casemate::cli {
namespace {

int run(Context& context) {
  const auto models = context.models();
  if (!models) return context.fail(models.error());
  DoctorOptions options;
  options.cache_folder = context.cache_folder;
  options.search_path = environment_variable("PATH");
  options.reader_program = program_folder() + "/casemate-reader";
  options.environment = whole_environment();
  const std::vector<DoctorItem> items = run_doctor(options, *models);
  bool broken = false;
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const DoctorItem& item : items) {
    broken = broken || item.status == DoctorStatus::kFailed;
    all.push_back({{"name", item.name},
                   {"status", doctor_status_name(item.status)},
                   {"detail", item.detail},
                   {"remedy", item.remedy}});
    if (context.json) continue;
    std::cout << std::left << std::setw(9) << doctor_status_name(item.status) << std::setw(42) << item.name
              << UntrustedText(item.detail).for_log(300) << '\n';
    if (!item.remedy.empty())
      std::cout << std::setw(51) << ""
                << "-> " << item.remedy << '\n';
  }
  if (context.json) std::cout << all.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
  return broken ? kAnswerIsNo : kDone;
}

}  // namespace

std::function<int()> set_up_doctor(CLI::App& /*app*/, Context& context) {
  return [&context] { return run(context); };
}

}  // namespace casemate::cli
