#include <iomanip>
#include <iostream>
#include <nlohmann/json.hpp>

#include "casemate/pipeline/policy.h"
#include "command.h"

namespace casemate::cli {

std::function<int()> set_up_policies(CLI::App& /*app*/, Context& context) {
  return [&context] {
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    for (const Policy& policy : policies()) {
      if (!context.json) std::cout << std::left << std::setw(22) << policy.name << policy.description << '\n';
      all.push_back({{"name", policy.name},
                     {"description", policy.description},
                     {"mode", retrieval_mode_name(policy.retrieval.mode)},
                     {"top_k", policy.top_k},
                     {"max_new_tokens", policy.max_new_tokens}});
    }
    if (context.json) std::cout << all.dump() << '\n';
    return kDone;
  };
}

}  // namespace casemate::cli
