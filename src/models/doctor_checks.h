// models/doctor_checks.h
#pragma once

#include <string>
#include <vector>

#include "casemate/models/doctor.h"

namespace casemate {

/// Groups of `run_doctor`; each appends its items.
void check_machine(const DoctorOptions& options, std::vector<DoctorItem>& items);  ///< processor, memory, disk, clock
void check_libraries(std::vector<DoctorItem>& items);                              ///< what this program is linked with
void check_programs(const DoctorOptions& options, std::vector<DoctorItem>& items);  ///< what it starts
void check_models(const ModelStore& models, std::vector<DoctorItem>& items);

}  // namespace casemate
