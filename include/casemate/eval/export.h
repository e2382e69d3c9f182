// casemate/eval/export.h
#pragma once

#include <span>
#include <string>

#include "casemate/eval/gate.h"
#include "casemate/eval/run_record.h"

namespace casemate {

// A run in other programs' formats. Every text is escaped for its format.

/// One line for each condition and metric, with a header: run, kind, attack, defence, metric, value, low, high, n.
[[nodiscard]] std::string run_csv(const RunRecord& run);
/// Tables of attack by defence for each metric, differences, certificates.
[[nodiscard]] std::string run_markdown(const RunRecord& run);
/// A `tabular` (booktabs) for each metric, with caption and label.
[[nodiscard]] std::string run_latex(const RunRecord& run);
/// Everything that the record holds, as one object.
[[nodiscard]] std::string run_json(const RunRecord& run);

/// JUnit's XML as CI systems read it: a test suite for the run, a test case for each gate and figure.
[[nodiscard]] std::string gates_junit(const RunRecord& run, std::span<const Gate> gates,
                                      std::span<const GateResult> results);
/// SARIF 2.1.0: a rule for each gate, a result for each figure that failed it (level "error") and for each certificate
/// that an attack broke. Logs are named relative to the run's folder, which is the base RUN.
[[nodiscard]] std::string gates_sarif(const RunRecord& run, std::span<const Gate> gates,
                                      std::span<const GateResult> results);

}  // namespace casemate
