#include "eval/leakage_corpus.h"

#include <algorithm>
#include <set>

#include "casemate/eval/data_set.h"

namespace casemate {

Result<LeakageCorpus> LeakageCorpus::load(const LeakageExperiment& experiment, const Encoder& encoder, bool quick) {
  auto data = load_data_set(experiment.data);
  if (!data) return data.error();
  LeakageCorpus out(encoder);
  out.seed_ = experiment.seed;
  out.digest_ = data->digest;
  const int count = quick ? experiment.quick_questions : experiment.questions;
  std::set<std::string> wanted;
  for (const std::size_t index :
       sample_questions(data->questions.size(), static_cast<std::size_t>(count), experiment.seed)) {
    out.questions_.push_back(data->questions[index]);
    out.ids_.push_back(out.questions_.back().query_id);
    wanted.insert(out.questions_.back().gold_document);
    // A question that needs several passages has them all.
    if (!data->judgements.empty()) {
      for (const auto& [id, grade] : data->judgements[index]) wanted.insert(id);
    }
  }
  std::vector<std::size_t> others;
  for (std::size_t i = 0; i < data->passages.size(); ++i) {
    if (!wanted.contains(data->passages[i].id)) others.push_back(i);
  }
  std::set<std::size_t> drawn;
  if (experiment.distractors > 0) {
    for (const std::size_t i :
         sample_questions(others.size(), static_cast<std::size_t>(experiment.distractors), experiment.seed))
      drawn.insert(others[i]);
  }
  for (std::size_t i = 0; i < data->passages.size(); ++i) {
    if (wanted.contains(data->passages[i].id) || drawn.contains(i))
      out.passages_.push_back(std::move(data->passages[i]));
  }
  if (out.passages_.empty()) {
    return Error{ErrorCode::kInvalidInput,
                 "no passage is left: the data does not say which passages answer, so `distractors` must be above 0"};
  }
  std::vector<std::string_view> texts;
  for (const CorpusPassage& passage : out.passages_) texts.push_back(passage.text.bytes());
  auto encoded = encoder.encode_passages(texts);
  if (!encoded) return encoded.error();
  out.embeddings_ = std::move(encoded->embeddings);
  return out;
}

Result<LeakQuery> LeakageCorpus::ask(LeakCase which, LeakInstruction instruction, const AttackTarget& question,
                                     std::stop_token stop) const {
  if (which == LeakCase::kClean) return LeakQuery{question.query, std::nullopt};
  LeakOptions options;
  options.instruction = instruction;
  options.side = which == LeakCase::kContext ? LeakSide::kContext : LeakSide::kQuery;
  options.anchor = which == LeakCase::kUntargeted ? LeakAnchor::kUntargeted : LeakAnchor::kTargeted;
  options.canary = false;
  const auto leak = Leak::create(options);
  if (!leak) return leak.error();
  const auto crafted = (*leak)->craft({passages_, std::span(&question, 1), seed_}, std::move(stop));
  if (!crafted) return crafted.error();
  if (!crafted->queries.empty()) return LeakQuery{crafted->queries[0].query, std::nullopt};
  if (crafted->documents.empty()) return Error{ErrorCode::kInvalidInput, "the attack made nothing of this question"};
  return LeakQuery{question.query, LeakChunk{crafted->documents[0].source_document, crafted->documents[0].text}};
}

Result<std::vector<LeakChunk>> LeakageCorpus::retrieve(const LeakQuery& query, int count) const {
  const std::string_view text = query.text.bytes();
  const auto encoded = encoder_->encode_queries(std::span(&text, 1));
  if (!encoded) return encoded.error();
  const auto asked = encoded->embeddings.row(0);
  std::vector<std::pair<double, std::size_t>> scored;
  for (std::size_t i = 0; i < embeddings_.rows; ++i) {
    const auto row = embeddings_.row(i);
    double score = 0;
    for (std::size_t d = 0; d < row.size(); ++d) score += static_cast<double>(asked[d]) * static_cast<double>(row[d]);
    scored.emplace_back(-score, i);
  }
  const std::size_t top = std::min(scored.size(), static_cast<std::size_t>(count));
  std::partial_sort(scored.begin(), scored.begin() + static_cast<std::ptrdiff_t>(top), scored.end());
  std::vector<LeakChunk> out;
  for (std::size_t i = 0; i < top; ++i)
    out.push_back({passages_[scored[i].second].id, passages_[scored[i].second].text});
  if (!query.planted) return out;
  // The attacker's version stands where its original was found, or first where it was not: the attack is at its best.
  const auto same =
      std::find_if(out.begin(), out.end(), [&](const LeakChunk& each) { return each.id == query.planted->id; });
  if (same != out.end()) {
    *same = *query.planted;
  } else {
    out.insert(out.begin(), *query.planted);
    if (out.size() > top) out.pop_back();
  }
  return out;
}

}  // namespace casemate
