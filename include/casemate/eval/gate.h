// casemate/eval/gate.h
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "casemate/core/status.h"
#include "casemate/eval/run_record.h"

namespace casemate {

/// What must not be: "asr@5 > 0.05", "high(asr@5) >= 0.1 where defence != none", "right < 0.6 where attack = pia".
/// A metric without its depth means that metric at every depth. It is asked of every condition that the filters let
/// through, and fails where it holds of any.
struct Gate {
  enum class Figure : std::uint8_t { kValue, kLow, kHigh };  ///< the mean, or an end of its 95 % interval
  enum class Relation : std::uint8_t { kAbove, kAtLeast, kBelow, kAtMost };
  /// attack or defence, equal or not equal to `name`: the whole name, or the part before its options.
  struct Filter {
    bool of_attack = false;
    bool equal = true;
    std::string name;
  };
  std::string text;  ///< as written
  std::string metric;
  Figure figure = Figure::kValue;
  Relation relation = Relation::kAbove;
  double threshold = 0;
  std::vector<Filter> filters;  ///< all must hold
};

/// Error: InvalidOption, saying what stands where it should not.
[[nodiscard]] Result<Gate> parse_gate(std::string_view text);

/// That every gate names a metric, attack and defence that are there, so that none passes because nothing was asked.
/// Empty `attacks` or `defences` are not looked at. Error: InvalidOption, naming the nearest one.
[[nodiscard]] Status check_gate_names(std::span<const Gate> gates, std::span<const std::string> metrics,
                                      std::span<const std::string> attacks, std::span<const std::string> defences);

/// One gate asked of one figure.
struct GateResult {
  std::size_t gate = 0;
  std::string attack;
  std::string defence;
  std::string metric;
  std::string log;  ///< of the condition, relative to the run's folder
  RunFigure figure;
  double compared = 0;  ///< the value that the threshold was compared with
  bool failed = false;
  std::string reason{};  ///< why the figure shows nothing, for people; empty where it shows something
};

/// In order of gates, then of the run's conditions. A figure that shows nothing fails the gate: one that is missing,
/// over no query, or no finite number, and in a run about leakage one of a condition with failed answers. Metrics of
/// what an attack reaches are not asked where there is no attack and no figure, nor metrics of use under demands for
/// passages. A condition where every query failed fails every gate. Error: InvalidOption as `check_gate_names`, and
/// where a gate's filters let no condition through or it asks for an interval that there is none of.
[[nodiscard]] Result<std::vector<GateResult>> ask_gates(const RunRecord& run, std::span<const Gate> gates);

}  // namespace casemate
