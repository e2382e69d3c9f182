#include "casemate/eval/experiment.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "casemate/core/nearest_name.h"
#include "casemate/eval/data_set.h"
#include "eval/experiment_parts.h"
#include "eval/option_grid.h"

namespace casemate {
namespace {

struct MeasureName {
  std::string_view name;
  EvalMeasure measure;
};
constexpr std::array kMeasures = {
    MeasureName{"recall", EvalMeasure::kRecall},
    MeasureName{"precision", EvalMeasure::kPrecision},
    MeasureName{"mrr", EvalMeasure::kMrr},
    MeasureName{"ndcg", EvalMeasure::kNdcg},
    MeasureName{"asr", EvalMeasure::kAsr},
    MeasureName{"targeted-asr", EvalMeasure::kTargetedAsr},
    MeasureName{"poison-share", EvalMeasure::kPoisonShare},
    MeasureName{"success", EvalMeasure::kSuccess},
    MeasureName{"map", EvalMeasure::kMap},
    MeasureName{"poison-rank", EvalMeasure::kPoisonRank},
};

constexpr auto kMeasureNames = [] {
  std::array<std::string_view, kMeasures.size()> out{};
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = kMeasures[i].name;
  return out;
}();

bool is_plain_name(std::string_view text) {
  return !text.empty() && text.size() <= 100 && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
}

std::string chain_name(const std::vector<DefenceChoice>& chain) {
  std::string out;
  for (const DefenceChoice& each : chain)
    out += (out.empty() ? "" : " + ") + each.name + (each.options == "{}" ? "" : each.options);
  return out.empty() ? "none" : out;
}

Status read_metrics(const YamlValue& value, int top_k, std::vector<EvalMetric>& out) {
  const auto names = value.texts();
  if (!names) return names.error();
  for (const std::string& name : *names) {
    const auto metric = parse_eval_metric(name);
    if (!metric) return value.error(metric.error().code, metric.error().message);
    if (metric->k > top_k) {
      return value.error(ErrorCode::kInvalidOption,
                         name + " looks further than top_k, which is " + std::to_string(top_k));
    }
    out.push_back(*metric);
  }
  return {};
}

Status read_attacks(const YamlValue& value, std::vector<std::string>& out) {
  const Status read = expand_each(value, [&](const std::string& text) -> Status {
    if (text != "none") {
      const auto choice = parse_attack(text);
      if (!choice) return choice.error();
      const auto made = create_attack(*choice);
      if (!made) return made.error();
    }
    if (std::find(out.begin(), out.end(), text) != out.end())
      return Error{ErrorCode::kInvalidInput, text + " stands twice"};
    out.push_back(text);
    return {};
  });
  std::stable_partition(out.begin(), out.end(), [](const std::string& text) { return text == "none"; });
  return read;
}

Status read_chain(const YamlValue& entry, const std::vector<std::string>& texts,
                  std::vector<std::vector<DefenceChoice>>& out) {
  std::vector<DefenceChoice> chain;
  for (const std::string& text : texts) {
    if (text == "none" && texts.size() == 1) break;
    const auto choice = parse_defence(text);
    if (!choice) return entry.error(choice.error().code, choice.error().message);
    chain.push_back(*choice);
  }
  for (const auto& other : out) {
    if (chain_name(other) == chain_name(chain))
      return entry.error(ErrorCode::kInvalidInput, chain_name(chain) + " stands twice");
  }
  out.push_back(std::move(chain));
  return {};
}

Status read_defences(const YamlValue& value, std::vector<std::vector<DefenceChoice>>& out) {
  const auto entries = value.list();
  if (!entries) return entries.error();
  for (const YamlValue& entry : *entries) {
    if (entry.is_list()) {  // several that run one after another
      const auto texts = entry.texts();
      if (!texts) return texts.error();
      if (Status read = read_chain(entry, *texts, out); !read) return read;
      continue;
    }
    const auto texts = expand_grid(entry);
    if (!texts) return texts.error();
    for (const std::string& text : *texts) {
      if (Status read = read_chain(entry, {text}, out); !read) return read;
    }
  }
  std::stable_partition(out.begin(), out.end(), [](const auto& chain) { return chain.empty(); });
  return {};
}

Status check_kind(const YamlValue& root, const std::string& kind, const Experiment& experiment) {
  constexpr std::string_view kKinds[] = {"ranking", "reading", "answers", "leakage"};
  if (kind == kKinds[1]) {
    if (experiment.methods.empty())
      return root.error(ErrorCode::kInvalidOption, "a reading experiment needs methods: [span, vanilla, ...]");
    return experiment.passages > experiment.top_k
               ? root.error(ErrorCode::kInvalidOption, "passages to read cannot be more than top_k")
               : Status();
  }
  if (kind != kKinds[0]) {
    return root.error(ErrorCode::kInvalidOption,
                      "there is no kind \"" + UntrustedText(kind).for_log(60) + "\"" + name_hint(kind, kKinds));
  }
  if (!experiment.methods.empty() || experiment.judge)
    return root.error(ErrorCode::kInvalidOption, "methods and judge are of `kind: reading`");
  return {};
}

Result<Experiment> read_experiment(const YamlValue& root) {
  Experiment out;
  std::optional<YamlValue> data;
  std::optional<YamlValue> metrics;
  std::optional<YamlValue> attacks;
  std::optional<YamlValue> defences;
  YamlOptions options(root);
  options.read("name", out.name).required().read("description", out.description);
  options.read("data", data).required().read("encoder", out.encoder);
  options.read("seed", out.seed, 0, UINT64_MAX).read("questions", out.questions, 0, 100'000'000);
  options.read("quick_questions", out.quick_questions, 1, 100'000'000).read("top_k", out.top_k, 1, 1000);
  options.read("corpus", out.corpus, 0, 100'000'000);
  options.read("metrics", metrics).required().read("attacks", attacks).read("defences", defences);
  std::string kind = "ranking";
  options.read("kind", kind)
      .read("methods", out.methods)
      .read("passages", out.passages, 1, 64)
      .read("judge", out.judge);
  if (Status read = options.finish(); !read) return read.error();
  if (!is_plain_name(out.name))
    return root.error(ErrorCode::kInvalidOption, "name must be 1 to 100 letters, digits, \"-\" and \"_\"");
  auto source = read_data_source(*data);
  if (!source) return source.error();
  out.data = *std::move(source);
  if (Status read = read_metrics(*metrics, out.top_k, out.metrics); !read) return read.error();
  if (out.metrics.empty()) return metrics->error(ErrorCode::kInvalidOption, "names no metric");
  if (attacks) {
    if (Status read = read_attacks(*attacks, out.attacks); !read) return read.error();
  }
  if (defences) {
    if (Status read = read_defences(*defences, out.defences); !read) return read.error();
  }
  if (Status checked = check_kind(root, kind, out); !checked) return checked.error();
  if (out.attacks.empty()) out.attacks.emplace_back("none");
  if (out.defences.empty()) out.defences.emplace_back();
  return out;
}

}  // namespace

Result<EvalMetric> parse_eval_metric(std::string_view name) {
  const std::size_t at = name.find('@');
  const std::string_view base = name.substr(0, at);
  std::vector<std::string_view> known;
  for (const MeasureName& each : kMeasures) {
    known.push_back(each.name);
    if (each.name != base) continue;
    int k = 0;
    const std::string_view digits = at == std::string_view::npos ? std::string_view() : name.substr(at + 1);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), k);
    if (error == std::errc() && end == digits.data() + digits.size() && k >= 1) return EvalMetric{each.measure, k};
    return Error{ErrorCode::kInvalidOption, "metric " + UntrustedText(std::string(name)).for_log() +
                                                " needs a depth: " + std::string(base) + "@5"};
  }
  return Error{ErrorCode::kInvalidOption,
               "there is no metric \"" + UntrustedText(std::string(name)).for_log() + "\"" + name_hint(base, known)};
}

bool is_about_poison(EvalMeasure measure) noexcept {
  return measure == EvalMeasure::kAsr || measure == EvalMeasure::kTargetedAsr || measure == EvalMeasure::kPoisonShare ||
         measure == EvalMeasure::kPoisonRank;
}

std::span<const std::string_view> eval_measure_names() noexcept { return kMeasureNames; }

std::string eval_metric_name(EvalMetric metric) {
  for (const MeasureName& each : kMeasures) {
    if (each.measure == metric.measure) return std::string(each.name) + "@" + std::to_string(metric.k);
  }
  return {};
}

std::string Condition::file_name() const {
  std::string out = std::to_string(attack_index) + "-" + std::to_string(defence_index) + "-";
  for (const char c : attack + "-" + defence) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.';
    if (plain) {
      out += c;
    } else if (out.back() != '-') {
      out += c == '_' ? '_' : '-';
    }
    if (out.size() >= 120) break;
  }
  while (out.back() == '-') out.pop_back();
  return out;
}

std::vector<Condition> Experiment::conditions() const {
  std::vector<Condition> out;
  for (std::size_t a = 0; a < attacks.size(); ++a) {
    for (std::size_t d = 0; d < defences.size(); ++d) out.push_back({attacks[a], chain_name(defences[d]), a, d});
  }
  return out;
}

Result<Experiment> load_experiment(const std::string& path) {
  const auto root = YamlValue::parse_file(path);
  if (!root) return root.error();
  return read_experiment(*root);
}

Result<Experiment> parse_experiment(std::string_view yaml, std::string_view name) {
  const auto root = YamlValue::parse(yaml, name);
  if (!root) return root.error();
  return read_experiment(*root);
}

}  // namespace casemate
