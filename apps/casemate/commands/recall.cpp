#include <algorithm>
#include <iomanip>
#include <iostream>
#include <nlohmann/json.hpp>

#include "casemate/formats/squad.h"
#include "casemate/pipeline/policy.h"
#include "command.h"
#include "open_pipeline.h"
#include "question_sample.h"

namespace casemate::cli {
namespace {

constexpr std::size_t kBatch = 256;
constexpr int kDepth = 10;

struct RecallChoice {
  std::string store;
  std::string questions;
  std::string tenant = "default";
  std::string encoder;
  std::string mode = "dense";
  std::vector<std::string> defences;
  int sample = 0;  ///< questions asked; 0: all
  std::uint64_t seed = 0;
  LanguageModelChoice model;
};

/// Ranks (from 1) of the gold document's first chunk, 0 where it is not among the first kDepth.
struct RankCounts {
  std::vector<int> ranks;

  [[nodiscard]] double recall_at(int k) const {
    return static_cast<double>(
               std::count_if(ranks.begin(), ranks.end(), [k](int rank) { return rank >= 1 && rank <= k; })) /
           static_cast<double>(ranks.size());
  }
  [[nodiscard]] double mrr() const {
    double sum = 0;
    for (const int rank : ranks) sum += rank > 0 ? 1.0 / rank : 0.0;
    return sum / static_cast<double>(ranks.size());
  }
};

/// Document of each chunk, filled as chunks are met.
class DocumentOfChunk {
 public:
  DocumentOfChunk(const Store& store, std::string tenant) : store_(store), tenant_(std::move(tenant)) {}

  Result<std::string> find(ChunkId id) {
    const auto it = known_.find(id);
    if (it != known_.end()) return it->second;
    auto chunks = store_.chunks(tenant_, std::span(&id, 1));
    if (!chunks) return chunks.error();
    if (!chunks->front()) return chunks->front().error();
    return known_.emplace(id, chunks->front()->document_id).first->second;
  }

 private:
  const Store& store_;
  std::string tenant_;
  std::map<ChunkId, std::string> known_;
};

Result<RankCounts> measure(Context& context, const Retriever& retriever, const Store& store, const std::string& tenant,
                           const std::vector<SquadQuestion>& questions) {
  RankCounts counts;
  DocumentOfChunk documents(store, tenant);
  context.progress().begin("asking", questions.size(), "questions");
  for (std::size_t first = 0; first < questions.size(); first += kBatch) {
    if (context.stop.stop_requested()) return Error{ErrorCode::kCancelled, "stopped"};
    const std::size_t count = std::min(kBatch, questions.size() - first);
    std::vector<UntrustedText> batch;
    for (std::size_t i = 0; i < count; ++i) batch.push_back(questions[first + i].question);
    const auto found = retriever.retrieve(tenant, batch, kDepth);
    if (!found) return found.error();
    for (std::size_t i = 0; i < count; ++i) {
      int rank = 0;
      const auto& items = (*found)[i].items;
      for (std::size_t at = 0; at < items.size() && rank == 0; ++at) {
        const auto document = documents.find(items[at].chunk);
        if (!document) return document.error();
        if (*document == questions[first + i].gold_passage_id) rank = static_cast<int>(at) + 1;
      }
      counts.ranks.push_back(rank);
    }
    context.progress().update(first + count);
  }
  context.progress().end();
  return counts;
}

/// The same through a policy with defences, one question at a time.
Result<RankCounts> measure_defended(Context& context, const OpenPipeline& open,
                                    const std::vector<SquadQuestion>& questions) {
  RankCounts counts;
  QueryOptions options = open.options;
  options.top_k = kDepth;
  context.progress().begin("asking", questions.size(), "questions");
  for (const SquadQuestion& question : questions) {
    if (context.stop.stop_requested()) return Error{ErrorCode::kCancelled, "stopped"};
    const auto found = open.pipeline->search(question.question, options, context.stop);
    if (!found) return found.error();
    const auto hit = std::find_if(found->hits.begin(), found->hits.end(),
                                  [&](const Hit& each) { return each.document == question.gold_passage_id; });
    counts.ranks.push_back(hit == found->hits.end() ? 0 : hit->rank);
    context.progress().update(counts.ranks.size());
  }
  context.progress().end();
  return counts;
}

int report(Context& context, const RankCounts& counts, const RecallChoice& choice);

int run_defended(Context& context, const RecallChoice& choice, const std::vector<SquadQuestion>& questions) {
  PipelineChoice pipeline;
  pipeline.query.store = choice.store;
  pipeline.query.tenant = choice.tenant;
  pipeline.query.encoder = choice.encoder;
  pipeline.query.mode = choice.mode;
  pipeline.query.seed = choice.seed;
  pipeline.defences = choice.defences;
  pipeline.model = choice.model;
  const auto open = open_pipeline(context, pipeline, false);
  if (!open) return context.fail(open.error());
  const auto counts = measure_defended(context, *open, questions);
  if (!counts) return context.fail(counts.error());
  return report(context, *counts, choice);
}

int run(Context& context, const RecallChoice& choice) {
  const auto mode = parse_retrieval_mode(choice.mode);
  if (!mode) return context.fail(mode.error());
  auto read = read_squad_questions(choice.questions, {});
  if (!read) return context.fail(read.error());
  if (read->questions.empty())
    return context.fail({ErrorCode::kInvalidInput, choice.questions + ": holds no question"});
  const auto questions = question_sample(std::move(read->questions), choice.sample, choice.seed);
  if (!choice.defences.empty()) return run_defended(context, choice, questions);
  const auto store = context.open_store(choice.store, true);
  if (!store) return context.fail(store.error());
  const auto encoder = encoder_for(context, **store, choice.encoder, *mode);
  if (!encoder) return context.fail(encoder.error());
  RetrieverOptions options;
  options.mode = *mode;
  const auto retriever = Retriever::create(**store, encoder->get(), options, context.pool());
  if (!retriever) return context.fail(retriever.error());
  const auto counts = measure(context, **retriever, **store, choice.tenant, questions);
  if (!counts) return context.fail(counts.error());
  return report(context, *counts, choice);
}

int report(Context& context, const RankCounts& counts, const RecallChoice& choice) {
  if (context.json) {
    std::cout << nlohmann::ordered_json{{"questions", counts.ranks.size()},  {"mode", choice.mode},
                                        {"recall@1", counts.recall_at(1)},   {"recall@5", counts.recall_at(5)},
                                        {"recall@10", counts.recall_at(10)}, {"mrr@10", counts.mrr()}}
                     .dump()
              << '\n';
  } else {
    std::cout << std::fixed << std::setprecision(4) << counts.ranks.size() << " questions, " << choice.mode
              << " retrieval: recall@1 " << counts.recall_at(1) << ", recall@5 " << counts.recall_at(5)
              << ", recall@10 " << counts.recall_at(10) << ", MRR@10 " << counts.mrr() << '\n';
  }
  return kDone;
}

}  // namespace

std::function<int()> set_up_recall(CLI::App& app, Context& context) {
  auto choice = std::make_shared<RecallChoice>();
  app.add_option("store", choice->store, "a store with the passages of that file")->required();
  app.add_option("questions", choice->questions, "SQuAD 1.1 JSON, or a zip file with one")->required();
  app.add_option("--tenant", choice->tenant, "whose documents")->capture_default_str();
  app.add_option("--encoder", choice->encoder, "where the store's encoder lies, if not where the store remembers");
  app.add_option("--mode", choice->mode, "dense, bm25 or hybrid")->capture_default_str();
  app.add_option("--defence", choice->defences, "as with search; questions are then asked one by one");
  app.add_option("--sample", choice->sample, "ask only so many questions, drawn at random; 0: all")
      ->check(CLI::Range(0, 1'000'000'000));
  app.add_option("--seed", choice->seed, "of the sample, and of whatever a defence draws")->capture_default_str();
  add_language_model_options(app, choice->model);
  return [choice, &context] { return run(context, *choice); };
}

}  // namespace casemate::cli
