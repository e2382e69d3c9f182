#include <nlohmann/json.hpp>

#include "casemate/core/utf8.h"
#include "casemate/pipeline/pipeline.h"

namespace casemate {
namespace {

using Json = nlohmann::ordered_json;

Json hit_json(const Hit& hit) {
  Json out = {
      {"id", hit.id},
      {"document", to_valid_utf8(hit.document)},
      {"rank", hit.rank},
      {"score", hit.candidate.score},
      {"title", hit.title.for_json()},
      {"text", hit.text.for_json()},
      {"source", {{"path", to_valid_utf8(hit.source_path)}, {"begin", hit.source_begin}, {"end", hit.source_end}}}};
  if (hit.sanitised) out["sanitised"] = true;
  if (hit.page > 0) out["source"]["page"] = hit.page;
  if (hit.line > 0) out["source"]["line"] = hit.line;
  if (hit.candidate.dense_score)
    out["dense"] = {{"score", *hit.candidate.dense_score}, {"rank", *hit.candidate.dense_rank}};
  if (hit.candidate.bm25_score)
    out["bm25"] = {{"score", *hit.candidate.bm25_score}, {"rank", *hit.candidate.bm25_rank}};
  return out;
}

}  // namespace

std::string to_json(const SearchResult& result) {
  Json hits = Json::array();
  for (const Hit& hit : result.hits) hits.push_back(hit_json(hit));
  return Json{{"query", result.query.for_json()},
              {"policy", result.policy},
              {"hits", std::move(hits)},
              {"evidence", Json::parse(to_json(result.evidence))}}
      .dump();
}

std::string to_json(const Answer& answer) {
  Json sources = Json::array();
  for (const Source& source : answer.sources) {
    Json entry = {{"number", source.number}, {"cited", source.cited}};
    entry.update(hit_json(source.hit));
    sources.push_back(std::move(entry));
  }
  return Json{{"question", answer.question.for_json()},
              {"answer", answer.text.for_json()},
              {"policy", answer.policy},
              {"sources", std::move(sources)},
              {"evidence", Json::parse(to_json(answer.evidence))},
              {"certificate", answer.certificate.empty() ? Json() : Json::parse(answer.certificate)},
              {"finish_reason", answer.finish_reason},
              {"usage", {{"prompt_tokens", answer.prompt_tokens}, {"generated_tokens", answer.generated_tokens}}}}
      .dump();
}

}  // namespace casemate
