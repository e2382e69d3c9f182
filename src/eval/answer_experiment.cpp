#include "casemate/eval/answer_experiment.h"

#include <algorithm>
#include <array>

#include "casemate/core/named_options.h"
#include "casemate/core/nearest_name.h"
#include "casemate/eval/answer_set.h"
#include "eval/experiment_parts.h"

namespace casemate {
namespace {

Error unknown(std::string_view what, const std::string& name, std::span<const std::string_view> known) {
  return {ErrorCode::kInvalidOption,
          "there is no " + std::string(what) + " \"" + UntrustedText(name).for_log(60) + "\"" + name_hint(name, known)};
}

Status read_task(const std::string& name, AnswerTask& task) {
  for (const AnswerTask each : {AnswerTask::kShortAnswer, AnswerTask::kMultipleChoice, AnswerTask::kLongText}) {
    if (name != answer_task_name(each)) continue;
    task = each;
    return {};
  }
  return Error{ErrorCode::kInvalidOption, "task must be short-answer, multiple-choice or long-text"};
}

Status read_budgets(const YamlValue& value, AnswerExperiment& experiment) {
  std::vector<CertifyBudget>& out = experiment.budgets;
  auto max_model_calls = static_cast<std::uint64_t>(experiment.max_model_calls);
  auto max_steps = static_cast<std::uint64_t>(experiment.max_steps);
  std::optional<YamlValue> malicious;
  std::vector<std::string> threats = {"injection"};
  YamlOptions options(value);
  options.read("malicious", malicious).required().read("threats", threats);
  options.read("max_model_calls", max_model_calls, 1, 16384).read("max_steps", max_steps, 1, 1'000'000);
  if (Status read = options.finish(); !read) return read;
  experiment.max_model_calls = static_cast<std::int64_t>(max_model_calls);
  experiment.max_steps = static_cast<std::int64_t>(max_steps);
  const auto numbers = malicious->list();
  if (!numbers) return numbers.error();
  for (const std::string& name : threats) {
    CertifyBudget budget;
    if (name == threat_name(PassageThreat::kModification)) {
      budget.threat = PassageThreat::kModification;
    } else if (name != threat_name(PassageThreat::kInjection)) {
      return value.error(ErrorCode::kInvalidOption, "threats are injection and modification");
    }
    for (const YamlValue& number : *numbers) {
      const auto count = number.integer(1, 10);
      if (!count) return count.error();
      budget.malicious = static_cast<int>(*count);
      out.push_back(budget);
    }
  }
  return {};
}

template <typename Parsed, typename Parse>
Status read_all(const YamlValue& value, const Parse& parse, std::vector<Parsed>& out) {
  return expand_each(value, [&](const std::string& name) -> Status {
    auto one = parse(name);
    if (!one) return one.error();
    const bool repeated =
        std::any_of(out.begin(), out.end(), [&](const Parsed& other) { return other.name == one->name; });
    if (repeated) return Error{ErrorCode::kInvalidInput, one->name + " stands twice"};
    out.push_back(*std::move(one));
    return {};
  });
}

}  // namespace

std::string CertifyBudget::name() const { return std::string(threat_name(threat)) + " " + std::to_string(malicious); }

Result<AnswerMethod> parse_answer_method(std::string_view text) {
  const NamedOptions parts = split_named_options(text);
  const auto root = YamlValue::parse(parts.options, parts.name);
  if (!root) return root.error();
  AnswerMethod out;
  out.name = std::string(text);
  out.vanilla = parts.name == "vanilla";
  out.no_retrieval = parts.name == "no-retrieval";
  std::string task = parts.name == "voting" ? "multiple-choice" : "short-answer";
  YamlOptions options(*root);
  options.read("task", task).read("passages", out.passages, 1, 64);
  if (!out.aggregates()) {
    if (Status read = read_task(task, out.task); !read) return read.error();
    out.robust = robust_options(Aggregation::kVoting, out.task);
    options.read("max_new_tokens", out.robust.max_new_tokens, 1, 4096);
    if (Status read = options.finish(); !read) return read.error();
    return out;
  }
  const auto method = find_aggregation(parts.name);
  if (!method) {
    constexpr std::array<std::string_view, 5> known = {"vanilla", "no-retrieval", "voting", "keyword", "decoding"};
    return unknown("method", parts.name, known);
  }
  if (Status read = read_task(task, out.task); !read) return read.error();
  out.robust = robust_options(*method, out.task);
  std::string alpha = out.robust.threshold.alpha.text();
  std::string beta = out.robust.threshold.beta.text();
  options.read("group_size", out.robust.group_size, 1, 64);
  options.read("max_new_tokens", out.robust.max_new_tokens, 1, 4096);
  if (*method == Aggregation::kKeyword) options.read("alpha", alpha).read("beta", beta);
  if (*method == Aggregation::kDecoding)
    options.read("eta", out.robust.eta, 0.0, 1000.0).read("gamma", out.robust.gamma, 0.0, 1.0);
  if (Status read = options.finish(); !read) return read.error();
  const auto share = Decimal::parse(alpha);
  if (!share) return share.error().in("alpha");
  const auto most = Decimal::parse(beta);
  if (!most) return most.error().in("beta");
  const auto threshold = KeywordThreshold::create(*share, *most);
  if (!threshold) return threshold.error();
  out.robust.threshold = *threshold;
  if (*method == Aggregation::kVoting && out.task != AnswerTask::kMultipleChoice)
    return Error{ErrorCode::kInvalidOption, "voting answers multiple choices only"};
  return out;
}

Result<AnswerAttack> parse_answer_attack(std::string_view text) {
  const NamedOptions parts = split_named_options(text);
  AnswerAttack out;
  out.name = std::string(text);
  if (parts.name == "none" && parts.options == "{}") return out;
  constexpr std::array<std::string_view, 3> known = {"none", "pia", "poison"};
  if (parts.name == "pia") {
    out.kind = AnswerAttack::Kind::kInjection;
  } else if (parts.name == "poison") {
    out.kind = AnswerAttack::Kind::kLie;
  } else {
    return unknown("attack on answers", parts.name, known);
  }
  const auto root = YamlValue::parse(parts.options, parts.name);
  if (!root) return root.error();
  std::string place = "last";
  YamlOptions options(*root);
  options.read("place", place).read("count", out.count, 1, 10);
  if (Status read = options.finish(); !read) return read.error();
  if (place != "last" && place != "first") return Error{ErrorCode::kInvalidOption, "place must be last or first"};
  out.first = place == "first";
  return out;
}

bool is_answer_experiment(const YamlValue& root) { return has_kind(root, "answers"); }

Result<AnswerExperiment> read_answer_experiment(const YamlValue& root) {
  AnswerExperiment out;
  std::string kind;
  std::optional<YamlValue> data;
  std::optional<YamlValue> methods;
  std::optional<YamlValue> attacks;
  std::optional<YamlValue> certify;
  YamlOptions options(root);
  options.read("name", out.name).required().read("description", out.description).read("kind", kind).required();
  options.read("data", data).required().read("seed", out.seed, 0, UINT64_MAX);
  options.read("questions", out.questions, 0, 100'000'000).read("quick_questions", out.quick_questions, 1, 100'000'000);
  options.read("passages", out.passages, 1, 64).read("methods", methods).required().read("attacks", attacks);
  options.read("certify", certify).read("live", out.live);
  if (Status read = options.finish(); !read) return read.error();
  YamlOptions data_options(*data);
  data_options.read("format", out.data_format).read("path", out.data_path).required();
  if (Status read = data_options.finish(); !read) return read.error();
  if (Status known = check_answer_format(out.data_format); !known)
    return data->error(known.error().code, known.error().message);
  if (Status read = read_all(*methods, parse_answer_method, out.methods); !read) return read.error();
  if (out.methods.empty()) return methods->error(ErrorCode::kInvalidOption, "names no method");
  if (attacks) {
    if (Status read = read_all(*attacks, parse_answer_attack, out.attacks); !read) return read.error();
  }
  const bool clean = std::any_of(out.attacks.begin(), out.attacks.end(),
                                 [](const AnswerAttack& each) { return each.kind == AnswerAttack::Kind::kNone; });
  if (!clean) out.attacks.insert(out.attacks.begin(), AnswerAttack{"none"});
  if (certify) {
    if (Status read = read_budgets(*certify, out); !read) return read.error();
  }
  for (const AnswerMethod& method : out.methods) {
    if (method.passages <= out.passages) continue;
    return methods->error(
        ErrorCode::kInvalidOption,
        method.name + " reads more passages than the experiment, which has " + std::to_string(out.passages));
  }
  for (const CertifyBudget& budget : out.budgets) {
    if (budget.malicious > out.passages)
      return certify->error(ErrorCode::kInvalidOption, "more malicious passages than passages");
  }
  return out;
}

}  // namespace casemate
