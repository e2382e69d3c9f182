#include "casemate/defend/paraphrase.h"
#include "casemate/defend/ragpart.h"
#include "defend/makers.h"

namespace casemate {
namespace {

template <class T>
MadeScan upcast_scan(Result<std::unique_ptr<T>> made) {
  if (!made) return made.error();
  return std::unique_ptr<ScanDefence>(*std::move(made));
}

constexpr std::array<std::pair<std::string_view, FragmentUnit>, 2> kUnits = {
    {{"word", FragmentUnit::kWord}, {"token", FragmentUnit::kToken}}};
constexpr std::array<std::pair<std::string_view, RagPartAggregation>, 2> kAggregations = {
    {{"majority", RagPartAggregation::kMajority}, {"intersection", RagPartAggregation::kIntersection}}};

/// What ragpart and naive have in common, and the end of the map. `name` stands in messages.
template <class Options>
Status finish_votes(const std::string& name, YamlOptions& options, Options& out) {
  std::string unit;
  std::string aggregation;
  options.read("fragments", out.fragments, 1, kMaxRagPartFragments)
      .read("unit", unit)
      .read("combination", out.combination, 1, kMaxRagPartFragments)
      .read("aggregation", aggregation);
  if (Status read = options.finish(); !read) return read;
  if (Status read = read_choice(unit, name + ".unit", kUnits, out.unit); !read) return read;
  return read_choice(aggregation, name + ".aggregation", kAggregations, out.aggregation);
}

}  // namespace

MadeScan make_naive(const YamlValue& map, const DefenceServices& services) {
  NaiveOptions out;
  YamlOptions options(map);
  if (Status read = finish_votes("naive", options, out); !read) return read.error();
  return upcast_scan(Naive::create(out, services));
}

MadeScan make_paraphrase(const YamlValue& map, const DefenceServices& services) {
  ParaphraseOptions out;
  YamlOptions options(map);
  options.read("max_new_tokens", out.max_new_tokens, 16, 4096).read("made_by", out.made_by);
  if (Status read = options.finish(); !read) return read.error();
  return upcast_scan(Paraphrase::create(out, services));
}

MadeScan make_ragpart(const YamlValue& map, const DefenceServices& services) {
  RagPartOptions out;
  YamlOptions options(map);
  options.read("renormalise", out.renormalise);
  if (Status read = finish_votes("ragpart", options, out); !read) return read.error();
  return upcast_scan(RagPart::create(out, services));
}

}  // namespace casemate
