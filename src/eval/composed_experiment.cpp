#include "casemate/eval/composed_experiment.h"

#include <charconv>

#include "eval/experiment_parts.h"

namespace casemate {
namespace {

Status read_ragpart(const YamlValue& value, std::vector<DefenceChoice>& out) {
  const Status read = expand_each(value, [&](const std::string& text) -> Status {
    auto choice = parse_defence(text);
    if (!choice) return choice.error();
    if (choice->name != "ragpart")
      return Error{ErrorCode::kInvalidOption, "composed certificates are about the votes of ragpart alone"};
    out.push_back(*std::move(choice));
    return {};
  });
  if (read && out.empty()) return value.error(ErrorCode::kInvalidOption, "names no ragpart");
  return read;
}

Status read_methods(const YamlValue& value, std::vector<AnswerMethod>& out) {
  const Status read = expand_each(value, [&](const std::string& text) -> Status {
    auto method = parse_answer_method(text);
    if (!method) return method.error();
    const bool fits = method->aggregates() && method->robust.group_size == 1 && method->passages == 0 &&
                      method->task != AnswerTask::kMultipleChoice;
    if (!fits) {
      return Error{ErrorCode::kInvalidOption,
                   text +
                       ": composed certificates need keyword or decoding over groups of one passage, over all "
                       "passages, and questions without options"};
    }
    out.push_back(*std::move(method));
    return {};
  });
  if (read && out.empty()) return value.error(ErrorCode::kInvalidOption, "names no method");
  return read;
}

/// The product of three lists of numbers.
Status read_planted(const YamlValue& value, std::vector<PlantedPassages>& out) {
  std::optional<YamlValue> passages;
  std::optional<YamlValue> fragments;
  std::optional<YamlValue> similarity;
  YamlOptions options(value);
  options.read("passages", passages).required().read("poisoned_fragments", fragments).required();
  options.read("max_similarity", similarity).required();
  if (Status read = options.finish(); !read) return read;
  const auto counts = passages->list();
  if (!counts) return counts.error();
  const auto slots = fragments->list();
  if (!slots) return slots.error();
  const auto bounds = similarity->list();
  if (!bounds) return bounds.error();
  for (const YamlValue& count : *counts) {
    for (const YamlValue& slot : *slots) {
      for (const YamlValue& bound : *bounds) {
        const auto planted = count.integer(1, 1000);
        if (!planted) return planted.error();
        const auto poisoned = slot.integer(0, kMaxRagPartFragments);
        if (!poisoned) return poisoned.error();
        const auto s_max = bound.number(-1.0, 1.0);
        if (!s_max) return s_max.error();
        PlantedPassages each;
        each.planted = static_cast<int>(*planted);
        each.poisoned_fragments = static_cast<int>(*poisoned);
        each.s_max = *s_max;
        out.push_back(each);
      }
    }
  }
  return {};
}

}  // namespace

bool is_composed_experiment(const YamlValue& root) { return has_kind(root, "composed"); }

std::string budget_name(const PlantedPassages& planted) {
  char text[32];
  const std::string bound(text, std::to_chars(text, text + sizeof text, planted.s_max).ptr);
  return "planted " + std::to_string(planted.planted) + ", fragments " + std::to_string(planted.poisoned_fragments) +
         ", similarity " + bound;
}

Result<ComposedExperiment> read_composed_experiment(const YamlValue& root) {
  ComposedExperiment out;
  std::string kind;
  std::optional<YamlValue> data;
  std::optional<YamlValue> ragpart;
  std::optional<YamlValue> methods;
  std::optional<YamlValue> planted;
  YamlOptions options(root);
  options.read("name", out.name).required().read("description", out.description).read("kind", kind).required();
  options.read("data", data).required().read("encoder", out.encoder).read("seed", out.seed, 0, UINT64_MAX);
  options.read("questions", out.questions, 0, 100'000'000).read("quick_questions", out.quick_questions, 1, 100'000'000);
  options.read("top_k", out.top_k, 1, 64).read("defences", ragpart).required();
  options.read("methods", methods).required().read("planted", planted).required();
  if (Status read = options.finish(); !read) return read.error();
  auto source = read_data_source(*data);
  if (!source) return source.error();
  out.data = *std::move(source);
  if (Status read = read_ragpart(*ragpart, out.ragpart); !read) return read.error();
  if (Status read = read_methods(*methods, out.methods); !read) return read.error();
  if (Status read = read_planted(*planted, out.planted); !read) return read.error();
  return out;
}

}  // namespace casemate
