#include "attack/makers.h"

#include "casemate/attack/advraggen.h"
#include "casemate/attack/answer_poisons.h"
#include "casemate/attack/corpus_poisons.h"
#include "casemate/attack/leak.h"
#include "casemate/attack/query_as_poison.h"
#include "casemate/attack/query_noise.h"

namespace casemate {
namespace {

template <class T>
MadeAttack upcast(Result<std::unique_ptr<T>> made) {
  if (!made) return made.error();
  return std::unique_ptr<Attack>(*std::move(made));
}

}  // namespace

MadeAttack make_advraggen(const YamlValue& map) {
  AdvRagGenOptions out;
  YamlOptions options(map);
  options.read("rounds", out.rounds, 1, 20)
      .read("proposals", out.proposals, 1, 64)
      .read("documents_per_query", out.documents_per_query, 1, 100)
      .read("max_new_tokens", out.max_new_tokens, 1, 2048)
      .read("temperature", out.temperature, 0.0, 5.0)
      .read("semantic_weight", out.semantic_weight, 0.0, 100.0)
      .read("retrieval_weight", out.retrieval_weight, 0.0, 100.0)
      .read("copying_weight", out.copying_weight, 0.0, 100.0);
  if (Status read = options.finish(); !read) return read.error();
  return upcast(AdvRagGen::create(out));
}

MadeAttack make_contradictory(const YamlValue& map) {
  ContradictoryOptions out;
  YamlOptions options(map);
  options.read("rate", out.rate, 0.0, 1.0);
  if (Status read = options.finish(); !read) return read.error();
  return upcast(Contradictory::create(out));
}

MadeAttack make_irrelevant(const YamlValue& map) {
  IrrelevantOptions out;
  YamlOptions options(map);
  options.read("rate", out.rate, 0.0, 1.0);
  if (Status read = options.finish(); !read) return read.error();
  return upcast(Irrelevant::create(out));
}

MadeAttack make_near_duplicate(const YamlValue& map) {
  NearDuplicateOptions out;
  YamlOptions options(map);
  options.read("rate", out.rate, 0.0, 1.0).read("edits", out.edits, 0, 100);
  if (Status read = options.finish(); !read) return read.error();
  return upcast(NearDuplicate::create(out));
}

MadeAttack make_leak(const YamlValue& map) {
  LeakOptions out;
  std::string instruction = "native";
  std::string side = "query";
  std::string anchor = "targeted";
  YamlOptions options(map);
  options.read("instruction", instruction)
      .read("side", side)
      .read("anchor", anchor)
      .read("anchor_words", out.anchor_words, 1, 200)
      .read("canary", out.canary);
  if (Status read = options.finish(); !read) return read.error();
  bool known = false;
  std::string names;
  for (const LeakInstruction each :
       {LeakInstruction::kNative, LeakInstruction::kEscapeCharacters, LeakInstruction::kContextIgnoring,
        LeakInstruction::kFakeCompletion, LeakInstruction::kCombined}) {
    names += (names.empty() ? "" : ", ") + std::string(leak_instruction_name(each));
    if (leak_instruction_name(each) != instruction) continue;
    out.instruction = each;
    known = true;
  }
  if (!known) return map.error(ErrorCode::kInvalidOption, "instruction must be one of " + names);
  if (side != "query" && side != "context")
    return map.error(ErrorCode::kInvalidOption, "side must be one of query, context");
  if (anchor != "targeted" && anchor != "untargeted")
    return map.error(ErrorCode::kInvalidOption, "anchor must be one of targeted, untargeted");
  out.side = side == "query" ? LeakSide::kQuery : LeakSide::kContext;
  out.anchor = anchor == "targeted" ? LeakAnchor::kTargeted : LeakAnchor::kUntargeted;
  return upcast(Leak::create(out));
}

MadeAttack make_pia(const YamlValue& map) {
  PiaOptions out;
  YamlOptions options(map);
  options.read("repeat", out.repeat, 1, 100).read("documents_per_query", out.documents_per_query, 1, 100);
  if (Status read = options.finish(); !read) return read.error();
  return upcast(Pia::create(out));
}

MadeAttack make_poison(const YamlValue& map) {
  PoisonOptions out;
  YamlOptions options(map);
  options.read("repeat", out.repeat, 1, 100)
      .read("documents_per_query", out.documents_per_query, 1, 100)
      .read("with_query", out.with_query);
  if (Status read = options.finish(); !read) return read.error();
  return upcast(Poison::create(out));
}

MadeAttack make_query_as_poison(const YamlValue& map) {
  QueryAsPoisonOptions out;
  std::string place = "start";
  YamlOptions options(map);
  options.read("place", place)
      .read("repeat", out.repeat, 1, 100)
      .read("documents_per_query", out.documents_per_query, 1, 100);
  if (Status read = options.finish(); !read) return read.error();
  if (place == "start") {
    out.place = PoisonPlace::kStart;
  } else if (place == "middle") {
    out.place = PoisonPlace::kMiddle;
  } else if (place == "end") {
    out.place = PoisonPlace::kEnd;
  } else {
    return map.error(ErrorCode::kInvalidOption, "place must be one of start, middle, end");
  }
  return upcast(QueryAsPoison::create(out));
}

MadeAttack make_query_noise(const YamlValue& map) {
  QueryNoiseOptions out;
  YamlOptions options(map);
  options.read("sigma", out.sigma, 0.0, 10.0);
  if (Status read = options.finish(); !read) return read.error();
  return upcast(QueryNoise::create(out));
}

}  // namespace casemate
