#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "casemate/certify/certify_answer.h"
#include "casemate/core/elapsed.h"
#include "casemate/core/file_system.h"
#include "casemate/core/utf8.h"
#include "casemate/defend/ragpart.h"
#include "casemate/eval/composed_experiment.h"
#include "casemate/eval/data_set.h"
#include "casemate/text/answer_match.h"
#include "eval/answer_log.h"
#include "eval/answer_summary.h"
#include "eval/query_log.h"
#include "eval/robust_parts.h"
#include "eval/run_folder.h"
#include "eval/work_store.h"

namespace casemate {
namespace {

using nlohmann::ordered_json;

/// One RAGPart with one method.
struct ComposedSlot {
  std::size_t ragpart = 0;
  AnswerMethod method;  ///< named "ragpart{..} > method"
  std::string file;
  std::size_t done = 0;
};

/// What RAGPart retrieved for a question.
struct Retrieved {
  RagPartRanking ranking;
  RagPartSearchOptions search;
  std::vector<PromptPassage> passages;
};

class ComposedRun {
 public:
  ComposedRun(const ComposedExperiment& experiment, const EvalParts& parts, const EvalOptions& options,
              Progress& progress, std::stop_token stop)
      : experiment_(experiment), parts_(parts), options_(options), progress_(progress), stop_(std::move(stop)) {}

  Result<AnswerRun> run() {
    if (Status loaded = load(); !loaded) return loaded.error();
    if (Status claimed = claim_folder(); !claimed) return claimed.error();
    for (ComposedSlot& slot : slots_) {
      const auto done = resume_log(log_of(slot), ids_);
      if (!done) return done.error();
      slot.done = *done;
      out_.already += *done;
    }
    if (out_.already < ids_.size() * slots_.size()) {
      if (Status prepared = prepare(); !prepared) return prepared.error();
      if (Status asked = ask_all(); !asked) return asked.error();
    }
    if (Status summarised = summarise(); !summarised) return summarised.error();
    return std::move(out_);
  }

 private:
  [[nodiscard]] std::string path(const std::string& name) const { return join_path(options_.out, name); }
  [[nodiscard]] std::string log_of(const ComposedSlot& slot) const { return path("queries/" + slot.file + ".jsonl"); }

  Status load() {
    auto data = load_data_set(experiment_.data);
    if (!data) return data.error();
    data_ = *std::move(data);
    const int count = options_.quick ? experiment_.quick_questions : experiment_.questions;
    for (const std::size_t index :
         sample_questions(data_.questions.size(), static_cast<std::size_t>(count), experiment_.seed)) {
      asked_.push_back(data_.questions[index]);
      ids_.push_back(asked_.back().query_id);
    }
    for (std::size_t r = 0; r < experiment_.ragpart.size(); ++r) {
      const DefenceChoice& choice = experiment_.ragpart[r];
      for (const AnswerMethod& method : experiment_.methods) {
        ComposedSlot slot{r, method, "", 0};
        slot.method.name = choice.name + (choice.options == "{}" ? "" : choice.options) + " > " + method.name;
        const Condition named{slot.method.name, attack_.name, slots_.size(), 0};
        slot.file = named.file_name();
        slots_.push_back(std::move(slot));
      }
    }
    auto robust = RobustParts::create();
    if (!robust) return robust.error();
    robust_ = *std::move(robust);
    DefenceServices services;
    services.encoder = parts_.encoder;
    services.pool = parts_.pool;
    for (const DefenceChoice& choice : experiment_.ragpart) {
      auto made = create_scan_defence(choice, services);
      if (!made) return made.error();
      scans_.push_back(*std::move(made));
      const auto* ragpart = dynamic_cast<const RagPart*>(scans_.back().get());
      if (ragpart == nullptr) return Error{ErrorCode::kInvalidOption, choice.name + " is not ragpart"};
      ragparts_.push_back(ragpart);
    }
    return {};
  }

  Status claim_folder() {
    ordered_json conditions = ordered_json::array();
    for (const ComposedSlot& slot : slots_) conditions.push_back(slot.method.name);
    ordered_json budgets = ordered_json::array();
    for (const PlantedPassages& each : experiment_.planted) budgets.push_back(budget_name(each));
    const ordered_json claim = {{"kind", "composed"},
                                {"name", experiment_.name},
                                {"seed", experiment_.seed},
                                {"questions", asked_.size()},
                                {"top_k", experiment_.top_k},
                                {"conditions", std::move(conditions)},
                                {"planted", std::move(budgets)},
                                {"data", to_hex(data_.digest)},
                                {"encoder", to_valid_utf8(parts_.encoder->info().model)},
                                {"encoder_hash", parts_.encoder->info().model_hash},
                                {"model", to_valid_utf8(parts_.model->info().name)},
                                {"model_hash", parts_.model->info().file_hash},
                                {"prompts", to_hex(prompt_hash(AnswerTask::kShortAnswer))}};
    return claim_run_folder(options_.out, {"queries", "costs", "work"}, claim.dump(1) + "\n");
  }

  Status prepare() {
    auto store = WorkStore::open(path("work/store"), *parts_.encoder);
    if (!store) return store.error();
    store_.emplace(*std::move(store));
    std::vector<const VectorRecipe*> recipes;
    for (const auto& scan : scans_) {
      const bool known = std::any_of(recipes.begin(), recipes.end(),
                                     [&](const VectorRecipe* each) { return each->kind() == scan->recipe().kind(); });
      if (!known) recipes.push_back(&scan->recipe());
    }
    const auto corpus = corpus_file(data_, path("work/corpus.jsonl"));
    if (!corpus) return corpus.error();
    return store_->index(corpus->first, corpus->second, recipes, false, progress_, stop_);
  }

  /// A question at a time, so that what the model read of its passages serves all methods.
  Status ask_all() {
    progress_.begin("answers", asked_.size() * slots_.size(), "answers");
    std::uint64_t reported = 0;
    for (std::size_t q = 0; q < asked_.size(); ++q) {
      std::optional<std::size_t> of;
      std::optional<Result<Retrieved>> retrieved;
      for (const ComposedSlot& slot : slots_) {
        progress_.update(++reported);
        if (slot.done > q) continue;
        if (stop_.stop_requested()) return Error{ErrorCode::kCancelled, "stopped; running it again goes on from here"};
        if (of != slot.ragpart) retrieved = retrieve(*ragparts_[slot.ragpart], asked_[q]);
        of = slot.ragpart;
        if (Status asked = ask(slot, asked_[q], *retrieved); !asked) return asked;
        ++out_.asked;
      }
    }
    progress_.end();
    return {};
  }

  Result<Retrieved> retrieve(const RagPart& ragpart, const AttackTarget& question) {
    DefenceQuery query;
    query.text = question.query;
    query.tenant = kWorkTenant;
    query.seed = experiment_.seed;
    const std::string_view text = question.query.bytes();
    auto encoded = parts_.encoder->encode_queries(std::span(&text, 1));
    if (!encoded) return encoded.error();
    query.embedding = std::move(encoded->embeddings.values);
    Store& store = store_->store();
    auto ranking = ragpart.ranking(store, query, experiment_.top_k, nullptr, *parts_.pool);
    if (!ranking) return ranking.error();
    Retrieved out;
    out.search = ragpart.search_options(query, experiment_.top_k);
    std::vector<ChunkId> ids;
    for (const RagPartHit& hit : ranking->hits) ids.push_back(hit.chunk);
    const auto chunks = store.chunks(kWorkTenant, ids);
    if (!chunks) return chunks.error();
    for (const auto& chunk : *chunks) {
      if (!chunk) return chunk.error();
      const auto document = store.document(kWorkTenant, chunk->document_id);
      if (!document) return document.error();
      out.passages.push_back({document->title, chunk->text});
    }
    out.ranking = *std::move(ranking);
    return out;
  }

  Status ask(const ComposedSlot& slot, const AttackTarget& question, const Result<Retrieved>& retrieved) {
    std::optional<AnswerCost> cost;
    auto outcome = retrieved ? outcome_of(slot, question, *retrieved, cost) : Result<AnswerOutcome>(retrieved.error());
    if (!outcome) {
      if (outcome.error().code == ErrorCode::kCancelled) return outcome.error();
      AnswerOutcome failed;
      failed.query = question.query_id;
      failed.error = outcome.error().message;
      outcome = std::move(failed);
    } else if (cost) {
      auto costs = LogWriter::open(path("costs/" + slot.file + ".jsonl"));
      if (!costs) return costs.error();
      if (Status kept = costs->append(cost_line(question.query_id, *cost) + "\n"); !kept) return kept;
    }
    auto log = LogWriter::open(log_of(slot));
    if (!log) return log.error();
    return log->append(log_line(*outcome) + "\n");
  }

  Result<AnswerOutcome> outcome_of(const ComposedSlot& slot, const AttackTarget& target, const Retrieved& retrieved,
                                   std::optional<AnswerCost>& cost) {
    Question question;
    question.text = target.query;
    question.task = slot.method.task;
    RobustOptions robust = robust_.into(slot.method.robust);
    robust.trace = true;
    const auto start = std::chrono::steady_clock::now();
    const auto answer = answer_robustly(*parts_.model, question, retrieved.passages, robust, stop_);
    if (!answer) return answer.error();
    // What was remembered took no time, which says nothing about the method.
    if (answer->remembered == 0) {
      cost = AnswerCost{seconds_since(start), static_cast<double>(answer->usage.decoded_tokens),
                        static_cast<double>(answer->usage.reused_tokens)};
    }
    AnswerOutcome out;
    out.query = target.query_id;
    out.answer = answer->text.bytes();
    out.declined = is_abstention(out.answer);
    out.valid = !normalize_answer(out.answer).empty() && answer->finish == FinishReason::kEnd;
    out.right = std::any_of(target.answers.begin(), target.answers.end(),
                            [&](const UntrustedText& right) { return contains_answer(out.answer, right.bytes()); });
    out.generated_tokens = answer->generated_tokens;
    const auto live = certify_answer(*parts_.model, question, retrieved.passages, robust, *answer, {}, stop_);
    if (!live) return live.error();
    out.live_k_prime = live->k_prime;
    out.live_limited_by = live->limited_by;
    for (const PlantedPassages& planted : experiment_.planted)
      out.certificates.push_back(composed(*ragparts_[slot.ragpart], retrieved, planted, live->k_prime));
    return out;
  }

  /// The answer stands where planted passages change no more of its passages than it is certified for.
  LoggedCertificate composed(const RagPart& ragpart, const Retrieved& retrieved, const PlantedPassages& planted,
                             std::int64_t k_prime) const {
    RetrievalPath path;
    path.aggregation = ragpart.options().aggregation;
    path.renormalise = ragpart.options().renormalise;
    path.unit_vectors = parts_.encoder->info().normalized;
    LoggedCertificate out{budget_name(planted), false, 0, ""};
    const auto found =
        retrieval_condition(retrieved.ranking, ragpart.options().fragments, retrieved.search, path, planted);
    if (!found) {
      out.reason = found.error().message;
      return out;
    }
    out.certified = k_prime >= std::max<std::int64_t>(1, found->changed_at_most);
    out.tau = out.certified ? 1 : 0;
    out.reason = "enter at most " + std::to_string(found->planted_votes) + " of " +
                 std::to_string(found->lists.size()) + " lists and change at most " +
                 std::to_string(found->changed_at_most) + " of " + std::to_string(found->results.size()) +
                 " passages; the answer is certified for " + std::to_string(k_prime);
    return out;
  }

  Status summarise() {
    AnswerExperiment experiment;
    experiment.name = experiment_.name;
    experiment.description = experiment_.description;
    experiment.seed = experiment_.seed;
    experiment.passages = experiment_.top_k;
    experiment.live = true;
    std::vector<AnswerConditionLog> logs;
    for (const ComposedSlot& slot : slots_) {
      auto outcomes = read_answer_log(log_of(slot));
      if (!outcomes) return outcomes.error();
      logs.push_back({&slot.method, &attack_, *std::move(outcomes), read_costs(path("costs/" + slot.file + ".jsonl"))});
    }
    AnswerSummary& summary = out_.summary;
    summary = summarise_answers(experiment, logs);
    for (const AnswerConditionLog& log : logs) {
      for (const PlantedPassages& planted : experiment_.planted) {
        CertifiedShare row;
        row.method = log.method->name;
        row.budget = budget_name(planted);
        row.certified = certified_share(log.outcomes, row.budget);
        summary.certified.push_back(std::move(row));
      }
    }
    summary.model = to_valid_utf8(parts_.model->info().name);
    summary.questions = asked_.size();
    summary.of_questions = data_.questions.size();
    summary.quick = options_.quick;
    return write_answer_summary(summary, options_.out);
  }

  static Share certified_share(std::span<const AnswerOutcome> outcomes, const std::string& budget) {
    Share out;
    for (const AnswerOutcome& outcome : outcomes) {
      if (!outcome.error.empty()) continue;
      ++out.of;
      out.count += std::any_of(outcome.certificates.begin(), outcome.certificates.end(),
                               [&](const auto& each) { return each.budget == budget && each.certified; })
                       ? 1
                       : 0;
    }
    return out;
  }

  const ComposedExperiment& experiment_;
  const EvalParts& parts_;
  const EvalOptions& options_;
  Progress& progress_;
  std::stop_token stop_;
  const AnswerAttack attack_{"none"};
  DataSet data_;
  std::vector<AttackTarget> asked_;
  std::vector<std::string> ids_;
  std::vector<ComposedSlot> slots_;
  std::vector<std::unique_ptr<ScanDefence>> scans_;
  std::vector<const RagPart*> ragparts_;  ///< of `scans_`
  std::optional<WorkStore> store_;
  RobustParts robust_;
  AnswerRun out_;
};

}  // namespace

Result<AnswerRun> run_composed_experiment(const ComposedExperiment& experiment, const EvalParts& parts,
                                          const EvalOptions& options, Progress& progress, std::stop_token stop) {
  if (parts.encoder == nullptr || parts.model == nullptr || parts.pool == nullptr)
    return Error{ErrorCode::kInvalidArgument, "composed certificates need an encoder, a language model and threads"};
  if (options.out.empty()) return Error{ErrorCode::kInvalidArgument, "an experiment needs a folder to write into"};
  return ComposedRun(experiment, parts, options, progress, std::move(stop)).run();
}

}  // namespace casemate
