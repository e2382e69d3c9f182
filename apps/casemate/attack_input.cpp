#include "attack_input.h"

#include "attack_queries.h"
#include "casemate/core/random.h"
#include "casemate/formats/reader.h"

namespace casemate::cli {
namespace {

constexpr int kPage = 500;

class PassageSink final : public DocumentSink {
 public:
  PassageSink(const Context& context, std::vector<CorpusPassage>& out) : context_(context), out_(out) {}
  Status document(Document document) override {
    if (context_.stop.stop_requested()) return Error{ErrorCode::kCancelled, "stopped"};
    out_.push_back({std::move(document.id), std::move(document.title), std::move(document.text)});
    return {};
  }
  void problem(const InputProblem& problem) override { context_.say(problem.error.message); }

 private:
  const Context& context_;
  std::vector<CorpusPassage>& out_;
};

}  // namespace

void add_target_options(CLI::App& app, TargetChoice& choice) {
  app.add_option(
      "--queries", choice.queries,
      "queries to attack: SQuAD 1.1 JSON, JSON lines (query, id, gold, answers, wrong_answer, wrong_texts), or "
      "one a line");
  app.add_option("--query", choice.texts, "a query to attack; may be given several times");
  app.add_option("--limit", choice.limit, "attack so many of the queries, drawn under the seed; 0: all")
      ->check(CLI::Range(0, 1'000'000))
      ->capture_default_str();
}

Result<std::vector<AttackTarget>> choose_targets(const TargetChoice& choice, std::uint64_t seed) {
  std::vector<AttackTarget> out;
  if (!choice.queries.empty()) {
    auto read = read_attack_queries(choice.queries);
    if (!read) return read.error();
    out = *std::move(read);
  }
  for (const std::string& text : choice.texts) {
    AttackTarget target;
    target.query_id = "query" + std::to_string(out.size());
    target.query = UntrustedText(text);
    out.push_back(std::move(target));
  }
  if (out.empty()) {
    return Error{
        ErrorCode::kInvalidArgument,
        "no query to attack: give --queries FILE (SQuAD JSON, JSON lines or one query a line) or --query TEXT"};
  }
  if (choice.limit > 0 && static_cast<std::size_t>(choice.limit) < out.size()) {
    // A smaller number is part of a larger one.
    RandomStream random(seed, "attack/limit");
    std::vector<std::size_t> order(out.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    for (std::size_t i = 0; i < static_cast<std::size_t>(choice.limit); ++i)
      std::swap(order[i], order[i + random.below(order.size() - i)]);
    std::vector<AttackTarget> some;
    for (std::size_t i = 0; i < static_cast<std::size_t>(choice.limit); ++i) some.push_back(out[order[i]]);
    out = std::move(some);
  }
  return out;
}

Result<std::vector<CorpusPassage>> passages_of_store(const Store& store, const std::string& tenant,
                                                     std::stop_token stop) {
  std::vector<CorpusPassage> out;
  std::string after;
  while (true) {
    if (stop.stop_requested()) return Error{ErrorCode::kCancelled, "stopped"};
    const auto page = store.documents(tenant, after, kPage);
    if (!page) return page.error();
    std::vector<const StoredDocument*> documents;
    std::vector<ChunkId> chunks;
    for (const StoredDocument& document : *page) {
      if (document.chunk_count == 0 || document.id.starts_with(kAttackIdPrefix)) continue;
      documents.push_back(&document);
      chunks.push_back(document.first_chunk);
    }
    const auto texts = store.chunks(tenant, chunks);
    if (!texts) return texts.error();
    for (std::size_t i = 0; i < documents.size(); ++i) {
      if ((*texts)[i]) out.push_back({documents[i]->id, documents[i]->title, (*texts)[i]->text});
    }
    if (page->size() < static_cast<std::size_t>(kPage)) return out;
    after = page->back().id;
  }
}

Result<std::vector<CorpusPassage>> passages_of_path(const Context& context, const std::string& path) {
  std::vector<CorpusPassage> out;
  PassageSink sink(context, out);
  ReadOptions options;
  options.generate_ids = true;
  const auto read = read_path(path, options, sink);
  if (!read) return read.error();
  if (out.empty()) return Error{ErrorCode::kInvalidInput, path + ": holds no document that could be read"};
  return out;
}

}  // namespace casemate::cli
