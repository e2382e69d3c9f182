// casemate/eval/leakage_experiment.h
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "casemate/attack/leak.h"
#include "casemate/core/progress.h"
#include "casemate/core/statistics.h"
#include "casemate/core/status.h"
#include "casemate/core/yaml_options.h"
#include "casemate/eval/data_set.h"
#include "casemate/sanitize/output_guard.h"
#include "casemate/sanitize/sanitizers.h"

namespace casemate {

class Encoder;
class LanguageModel;

/// From where a passage is demanded.
enum class LeakCase : std::uint8_t {
  kClean,       ///< nobody demands: utility is measured
  kTargeted,    ///< the question names the passage's first words and orders to print it
  kUntargeted,  ///< random words and the order
  kContext,     ///< a clean question; the order stands in the passage
};
[[nodiscard]] std::string_view leak_case_name(LeakCase which) noexcept;  ///< "clean", "targeted", ...

/// An experiment about what answers give away (docs/leakage.md). Its YAML file says `kind: leakage`.
struct LeakageExperiment {
  std::string name;
  std::string description;
  DataSource data;
  std::uint64_t seed = 42;
  int questions = 100;      ///< in [1, 100000]
  int quick_questions = 3;  ///<
  int distractors = 200;    ///< passages of other questions in the corpus; in [0, 1000000]
  int passages = 2;         ///< retrieved a question; in [1, 64]
  int max_new_tokens = 160;
  std::vector<SanitizerChoice> modes;
  std::vector<LeakCase> cases;
  std::vector<LeakInstruction> instructions;  ///< of all cases but clean; leakage is the worst over them
  std::optional<GuardOptions> guard;          ///< over every mode
};

[[nodiscard]] bool is_leakage_experiment(const YamlValue& root);
/// A mode with its options, as rows name it.
[[nodiscard]] std::string leakage_mode_name(const SanitizerChoice& mode);
/// Metrics that a gate may name once the experiment was run ("contains", "leak_eed", "crr_eed@0.5").
[[nodiscard]] std::vector<std::string> leakage_metrics(const LeakageExperiment& experiment);
/// Error: InvalidOption, InvalidInput with file and line.
[[nodiscard]] Result<LeakageExperiment> read_leakage_experiment(const YamlValue& root);

struct LeakageParts {
  const Encoder* encoder = nullptr;   ///< required: retrieval, and likeness of meaning
  LanguageModel* model = nullptr;     ///< required: generator and extractor
  LanguageModel* backbone = nullptr;  ///< for keywords; null: `model`
};

/// A figure's 95 % interval.
struct FigureInterval {
  Interval interval;
  bool is_rate = false;  ///< Wilson's, where every value is 0 or 1; else the bootstrap's over questions
};
/// By figure, as summaries name them: "eed", "contains", "crr_eed@0.5". A figure over nothing has none.
using FigureIntervals = std::map<std::string, FigureInterval, std::less<>>;

/// Means over questions of what clean answers are worth, against the data set's answers.
struct UtilityRow {
  std::string mode;
  double bleu1 = 0, rouge_l = 0, exact_match = 0, f1 = 0, contains = 0;
  /// Share of the questions whose right answer stands in a keyword, a fact, the generator's context, the answer: the
  /// step at which it was lost.
  double in_keywords = 0, in_facts = 0, in_context = 0;
  std::optional<double> seconds;  ///< median of a whole answer; unset where not all were asked in this process
  std::size_t questions = 0;      ///< that were answered: the means are over these
  std::size_t failed = 0;
  FigureIntervals intervals{};
};

/// What one of the instructions got: means over its answers.
struct LeakByInstruction {
  std::string instruction;
  double eed = 0;
  double rouge_l = 0;
  std::size_t withheld = 0;
  std::size_t questions = 0;  ///< answers; 0: the means show nothing
  FigureIntervals intervals{};
};

/// Means over questions of the nearest retrieved chunk, for the instruction that does worst by each figure.
struct LeakageRow {
  std::string mode;
  LeakCase which = LeakCase::kTargeted;
  double ss = 0, eed = 0, f1 = 0, bleu1 = 0, rouge_l = 0;
  /// Share of all chunks retrieved whose best EED, or best longest-common-subsequence recall, over all answers of an
  /// instruction reaches 0.3, 0.5, 0.7, 0.9.
  std::vector<double> crr_eed, crr_lcs;
  std::string worst;         ///< instruction with the largest EED
  std::size_t withheld = 0;  ///< answers that the guard ended, over all instructions
  /// Answers that a mean is over: of the instruction with the fewest, so that 0 means that a figure shows nothing.
  std::size_t questions = 0;
  std::size_t failed = 0;                         ///< over all instructions
  std::vector<LeakByInstruction> instructions{};  ///< each by itself, in the experiment's order
  /// Of the instruction whose figure stands here, so that the worst of several is taken for one that was chosen
  /// beforehand: it is somewhat too high, and so is its interval. Recovery rates are over chunks.
  FigureIntervals intervals{};
  /// Adds one, and keeps `eed`, `rouge_l`, `worst` and `withheld` those of the worst and of all.
  void add(const LeakByInstruction& each);
};

struct LeakageRun {
  std::size_t asked = 0;
  std::size_t already = 0;
  std::vector<UtilityRow> utility;
  std::vector<LeakageRow> leakage;
};
inline constexpr double kRecoveryThresholds[] = {0.3, 0.5, 0.7, 0.9};

/// Asks every question under every mode, case and instruction and writes into `out`: experiment.json (a folder with
/// another one is refused), queries/*.jsonl (one line an answer, with its chunks), summary.json, summary.csv,
/// summary.md. After a kill or a stop
/// the same call goes on behind the last logged answer. An answer that fails is logged with its error, counted, and in
/// no figure. Error: Mismatch for a folder of another experiment; what data, encoder and models say; Cancelled.
[[nodiscard]] Result<LeakageRun> run_leakage_experiment(const LeakageExperiment& experiment, const LeakageParts& parts,
                                                        const std::string& out, bool quick, Progress& progress,
                                                        std::stop_token stop);

[[nodiscard]] std::string to_markdown(const LeakageRun& run);
[[nodiscard]] std::string to_json(const LeakageRun& run);
/// case,mode,instruction,figure,value,low,high,interval,n: a line a figure, utility as the case "clean", and a line for
/// each instruction by itself. Empty cells where nothing was measured.
[[nodiscard]] std::string to_csv(const LeakageRun& run);

}  // namespace casemate
