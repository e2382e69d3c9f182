// eval/report/leakage_record.h
#pragma once

#include <nlohmann/json.hpp>

#include "casemate/eval/run_record.h"

namespace casemate {

/// Conditions of an experiment about leakage from its summary: modes stand as defences, its cases as attacks, the clean
/// answers as the attack "none". Names of what leaked begin with "leak_" and are those of the instruction that got
/// most.
void read_leakage_conditions(const nlohmann::json& summary, RunRecord& run);

}  // namespace casemate
