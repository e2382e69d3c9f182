#include "casemate/attack/query_as_poison.h"

#include "attack/words.h"

namespace casemate {
namespace {

std::string_view place_name(PoisonPlace place) {
  switch (place) {
    case PoisonPlace::kStart:
      return "start";
    case PoisonPlace::kMiddle:
      return "middle";
    case PoisonPlace::kEnd:
      return "end";
  }
  return "start";
}

/// `text` with `planted` at `place`, set off by blanks.
CraftedDocument insert(const std::string& text, const std::string& planted, PoisonPlace place) {
  std::size_t at = 0;
  if (place == PoisonPlace::kEnd) at = text.size();
  if (place == PoisonPlace::kMiddle) {
    const auto words = blank_separated_words(text);
    if (!words.empty()) at = words[words.size() / 2].begin;
  }
  std::string out = text.substr(0, at);
  if (at == text.size() && !out.empty()) out += ' ';
  const std::size_t begin = out.size();
  out += planted;
  const std::size_t end = out.size();
  if (at < text.size()) out += ' ';
  out += text.substr(at);
  CraftedDocument document;
  document.changed.push_back(in_characters(out, begin, end));
  document.text = UntrustedText(std::move(out));
  return document;
}

}  // namespace

Result<std::unique_ptr<QueryAsPoison>> QueryAsPoison::create(const QueryAsPoisonOptions& options) {
  if (options.repeat < 1 || options.repeat > 100)
    return Error{ErrorCode::kInvalidOption, "query-as-poison: repeat must be in 1 to 100"};
  if (options.documents_per_query < 1 || options.documents_per_query > 100)
    return Error{ErrorCode::kInvalidOption, "query-as-poison: documents_per_query must be in 1 to 100"};
  return std::unique_ptr<QueryAsPoison>(new QueryAsPoison(options));
}

std::vector<std::pair<std::string, std::string>> QueryAsPoison::parameters() const {
  return {{"place", std::string(place_name(options_.place))},
          {"repeat", std::to_string(options_.repeat)},
          {"documents_per_query", std::to_string(options_.documents_per_query)}};
}

Result<CraftedAttack> QueryAsPoison::craft(const AttackInput& input, std::stop_token stop) const {
  CraftedAttack out;
  const auto wanted = static_cast<std::size_t>(options_.documents_per_query);
  if (input.corpus.empty()) return out;
  for (const AttackTarget& target : input.targets) {
    if (stop.stop_requested()) return Error{ErrorCode::kCancelled, "stopped"};
    std::string planted = target.query.bytes();
    for (int i = 1; i < options_.repeat; ++i) planted += " " + target.query.bytes();
    const auto drawn = draw_irrelevant(input, name(), target.query_id, std::span(&target.gold_document, 1), wanted);
    if (!drawn) return drawn.error();
    for (const std::size_t index : *drawn) {
      const CorpusPassage& passage = input.corpus[index];
      CraftedDocument document = insert(passage.text.bytes(), planted, options_.place);
      document.id = attack_document_id(name(), out.documents.size());
      document.title = passage.title;
      document.source_document = passage.id;
      document.target_queries = {target.query_id};
      out.documents.push_back(std::move(document));
    }
  }
  return out;
}

}  // namespace casemate
