#include "attack/makers.h"
#include "casemate/attack/hotflip.h"

namespace casemate {
namespace {

/// Reads one of several words.
template <class T>
Status choose(const YamlValue& map, const char* field, const std::string& word,
              std::initializer_list<std::pair<const char*, T>> known, T& out) {
  std::string names;
  for (const auto& [name, value] : known) {
    if (word == name) {
      out = value;
      return {};
    }
    names += (names.empty() ? "" : ", ") + std::string(name);
  }
  return map.error(ErrorCode::kInvalidOption, std::string(field) + " must be one of " + names);
}

/// What the attacks of this family have in common; `more` reads the rest.
template <class More>
MadeAttack make(const YamlValue& map, HotFlipOptions out, bool has_place, bool has_start, const More& more) {
  std::string place = out.place == FlipPlace::kSpread ? "spread" : "prefix";
  std::string start = "query";
  YamlOptions options(map);
  options.read("tokens", out.tokens, 1, 256)
      .read("iterations", out.iterations, 0, 10000)
      .read("candidates", out.candidates, 1, 1000)
      .read("documents_per_query", out.documents_per_query, 1, 100)
      .read("clusters", out.clusters, 0, 1'000'000);
  if (out.batch > out.candidates) out.batch = out.candidates;
  options.read("batch", out.batch, 1, out.candidates);
  if (has_place) options.read("place", place);
  if (has_start) options.read("start", start);
  more(options, out);
  if (Status read = options.finish(); !read) return read.error();
  if (has_place) {
    const Status chosen =
        out.goal == FlipGoal::kRagMask
            ? choose<FlipPlace>(map, "place", place,
                                {{"prefix", FlipPlace::kPrefix},
                                 {"middle", FlipPlace::kMiddle},
                                 {"suffix", FlipPlace::kSuffix},
                                 {"spread", FlipPlace::kSpread}},
                                out.place)
            : choose<FlipPlace>(
                  map, "place", place,
                  {{"prefix", FlipPlace::kPrefix}, {"middle", FlipPlace::kMiddle}, {"suffix", FlipPlace::kSuffix}},
                  out.place);
    if (!chosen) return chosen.error();
  }
  if (has_start) {
    const Status chosen =
        choose<FlipStart>(map, "start", start, {{"query", FlipStart::kQuery}, {"mask", FlipStart::kMask}}, out.start);
    if (!chosen) return chosen.error();
  }
  auto made = HotFlip::create(out);
  if (!made) return made.error();
  return std::unique_ptr<Attack>(*std::move(made));
}

}  // namespace

MadeAttack make_hotflip(const YamlValue& map) {
  return make(map, {}, true, true, [](YamlOptions&, HotFlipOptions&) {});
}

MadeAttack make_hotflip_spread(const YamlValue& map) {
  HotFlipOptions defaults;
  defaults.place = FlipPlace::kSpread;
  return make(map, defaults, false, true, [](YamlOptions&, HotFlipOptions&) {});
}

MadeAttack make_hotflip_ragpart(const YamlValue& map) {
  HotFlipOptions defaults;
  defaults.goal = FlipGoal::kRagPart;
  std::string unit = "word";
  auto made = make(map, defaults, false, false, [&unit](YamlOptions& options, HotFlipOptions& out) {
    options.read("fragments", out.fragments, 1, 20).read("unit", unit);
    options.read("poisoned_fragments", out.poisoned_fragments, 0, out.fragments);
    out.unit = unit == "token" ? FragmentUnit::kToken : FragmentUnit::kWord;
  });
  if (made && unit != "word" && unit != "token")
    return map.error(ErrorCode::kInvalidOption, "unit must be one of word, token");
  return made;
}

MadeAttack make_hotflip_ragmask(const YamlValue& map) {
  HotFlipOptions defaults;
  defaults.goal = FlipGoal::kRagMask;
  defaults.place = FlipPlace::kSpread;
  std::string perturb = "mask";
  auto made = make(map, defaults, true, false, [&perturb](YamlOptions& options, HotFlipOptions& out) {
    options.read("mask_length_tokens", out.mask_length_tokens, 1, 512)
        .read("delta", out.delta, 0, 1000)
        .read("delta_relative", out.delta_relative, 0, 1)
        .read("perturb", perturb)
        .read("penalty", out.penalty, 0, 1000);
    out.delete_segments = perturb == "delete";
  });
  if (made && perturb != "mask" && perturb != "delete")
    return map.error(ErrorCode::kInvalidOption, "perturb must be one of mask, delete");
  return made;
}

}  // namespace casemate
