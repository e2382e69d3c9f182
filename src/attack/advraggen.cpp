#include "casemate/attack/advraggen.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <nlohmann/json.hpp>

#include "attack/poison_objective.h"
#include "attack/words.h"
#include "casemate/attack/craft_cache.h"
#include "casemate/core/hash.h"
#include "casemate/core/progress.h"
#include "casemate/core/run_together.h"
#include "casemate/core/utf8.h"
#include "casemate/llm/sample_answers.h"
#include "casemate/text/rouge.h"

namespace casemate {
namespace {

using Json = nlohmann::ordered_json;

/// The model's next tokens for these are computed in one step, and a remote model answers for all of them at once.
constexpr std::size_t kDocumentsAtOnce = 6;

constexpr std::string_view kTask =
    "Rewrite the document below in other words so that a search engine finds it for the question. Keep what the "
    "document "
    "says. Do not copy the question, do not answer it, and write nothing but the rewritten document.";

Result<std::vector<float>> embedding_of(const Encoder& encoder, std::string_view text, TextRole role) {
  auto encoded = encoder.encode(std::span(&text, 1), {role, SpecialTokens::kAsText});
  if (!encoded) return encoded.error();
  return std::move(encoded->embeddings.values);
}

double cosine(std::span<const float> a, std::span<const float> b) {
  const double norms = similarity_to(a, a) * similarity_to(b, b);
  return norms > 0 ? similarity_to(a, b) / std::sqrt(norms) : 0;
}

std::string reward_text(const ParaphraseRewards& rewards) {
  const auto percent = [](double value) { return number_text(std::round(100 * value)) + " of 100"; };
  return "likeness to the document " + percent(rewards.semantic) + ", found for the question " +
         percent(rewards.retrieval) + ", copied from the question " + percent(rewards.copying);
}

/// One document and one query.
class Paraphrasing {
 public:
  Paraphrasing(const AdvRagGenOptions& options, const AttackInput& input, const AttackTarget& target,
               const CorpusPassage& source)
      : options_(options), input_(input), target_(target), source_(source) {}

  Result<ParaphraseTrace> run(const std::stop_token& stop, std::string& best_text) {
    if (Status embedded = embed(); !embedded) return embedded.error();
    ParaphraseTrace trace;
    const auto before = score(source_.text.bytes());
    if (!before) return before.error();
    trace.before = trace.after = *before;
    best_text = source_.text.bytes();
    for (int round = 0; round < options_.rounds; ++round) {
      const std::string task = prompt_text(best_text, trace.after, round > 0);
      std::vector<std::pair<double, std::string>> proposals;
      const auto texts = propose(task, round, stop);
      if (!texts) return texts.error();
      for (const std::string& text : *texts) {
        if (blank_separated_words(text).empty()) continue;  // an empty answer is no paraphrase
        const auto rewards = score(text);
        if (!rewards) return rewards.error();
        proposals.emplace_back(total(*rewards), text);
        if (proposals.back().first > total(trace.after)) {
          trace.after = *rewards;
          best_text = text;
        }
      }
      if (proposals.size() < 2) continue;
      const auto [worst, best] = std::minmax_element(proposals.begin(), proposals.end());
      if (worst->first < best->first) trace.preferences.push_back({task, best->second, worst->second});
    }
    trace.copies_run = copies_run_of_query(best_text);
    trace.judge = encoder_label(judge().info());
    return trace;
  }

 private:
  Status embed() {
    auto query = embedding_of(*input_.tools.encoder, target_.query.bytes(), TextRole::kQuery);
    if (!query) return query.error();
    query_ = *std::move(query);
    auto original = embedding_of(judge(), source_.text.bytes(), TextRole::kPassage);
    if (!original) return original.error();
    original_ = *std::move(original);
    query_words_ = rouge_words(target_.query.bytes());
    return {};
  }

  [[nodiscard]] bool copies_run_of_query(const std::string& text) const {
    constexpr auto kRun = static_cast<std::ptrdiff_t>(kCopiedRun);
    const std::vector<std::string> words = rouge_words(text);
    for (auto at = query_words_.begin(); query_words_.end() - at >= kRun; ++at) {
      if (std::search(words.begin(), words.end(), at, at + kRun) != words.end()) return true;
    }
    return false;
  }

  [[nodiscard]] const Encoder& judge() const {
    return input_.tools.judge != nullptr ? *input_.tools.judge : *input_.tools.encoder;
  }

  Result<ParaphraseRewards> score(const std::string& text) const {
    ParaphraseRewards out;
    const auto judged = embedding_of(judge(), text, TextRole::kPassage);
    if (!judged) return judged.error();
    out.semantic = cosine(original_, *judged);
    const auto retrieved = embedding_of(*input_.tools.encoder, text, TextRole::kPassage);
    if (!retrieved) return retrieved.error();
    out.retrieval = similarity_to(query_, *retrieved);
    out.copying = rouge_l(rouge_words(text), query_words_).f;
    return out;
  }

  [[nodiscard]] double total(const ParaphraseRewards& rewards) const {
    return options_.semantic_weight * rewards.semantic + options_.retrieval_weight * rewards.retrieval -
           options_.copying_weight * rewards.copying;
  }

  [[nodiscard]] std::string prompt_text(const std::string& best, const ParaphraseRewards& rewards,
                                        bool with_feedback) const {
    std::string out = "Question: " + target_.query.bytes() + "\nDocument: " + source_.text.bytes();
    if (with_feedback && best != source_.text.bytes())
      out += "\nYour best so far (" + reward_text(rewards) + "): " + best + "\nWrite a better one.";
    return out;
  }

  /// What the model makes of `task`, `proposals` times. A round is kept as a whole, since an answer may depend in its
  /// last digits on which others were drawn with it.
  Result<std::vector<std::string>> propose(const std::string& task, int round, const std::stop_token& stop) const {
    const Prompt prompt =
        PromptBuilder::chat().system(kTask).user().untrusted(UntrustedText(task)).text("\nRewritten document:").build();
    GenerateOptions options;
    options.max_new_tokens = options_.max_new_tokens;
    options.temperature = options_.temperature;
    std::vector<std::uint64_t> seeds;
    std::string of = "proposals";
    for (int i = 0; i < options_.proposals; ++i) {
      seeds.push_back(RandomStream(input_.seed, "attack/advraggen/" + target_.query_id + "/" + source_.id + "/" +
                                                    std::to_string(round) + "/" + std::to_string(i))
                          .next_u64());
      of += " " + std::to_string(seeds.back());
    }
    const ModelInfo& model = input_.tools.model->info();
    const std::string key = "advraggen/" + to_hex(blake2b(model.name + "\n" + model.file_hash + "\n" + of + "\n" +
                                                          number_text(options.temperature) + "\n" +
                                                          std::to_string(options.max_new_tokens) + "\n" + task));
    CraftCache* cache = input_.tools.cache;
    if (cache != nullptr) {
      const auto kept = cache->find(key);
      const Json texts = kept ? Json::parse(*kept, nullptr, false) : Json();
      const bool whole = texts.is_array() && texts.size() == seeds.size() &&
                         std::all_of(texts.begin(), texts.end(), [](const Json& each) { return each.is_string(); });
      if (whole) return texts.get<std::vector<std::string>>();
    }
    const auto generated = sample_answers(*input_.tools.model, prompt, options, seeds, stop);
    if (!generated) return generated.error().in("advraggen, query " + UntrustedText(target_.query_id).for_log());
    std::vector<std::string> texts;
    for (const Generation& each : *generated) texts.push_back(to_valid_utf8(each.text.bytes()));
    if (cache != nullptr) {
      if (Status put = cache->put(key, Json(texts).dump()); !put) return put.error();
    }
    return texts;
  }

  const AdvRagGenOptions& options_;
  const AttackInput& input_;
  const AttackTarget& target_;
  const CorpusPassage& source_;
  std::vector<float> query_;
  std::vector<float> original_;
  std::vector<std::string> query_words_;
};

}  // namespace

std::string encoder_label(const EncoderInfo& encoder) {
  return encoder.model + " (" + std::string(pooling_name(encoder.pooling)) + ")";
}

std::string preference_record_json(const ParaphrasePreference& preference) {
  const auto text = [](const std::string& bytes) { return to_valid_utf8(bytes); };
  return Json{{"prompt", std::string(kTask) + "\n" + text(preference.prompt)},
              {"chosen", text(preference.chosen)},
              {"rejected", text(preference.rejected)}}
      .dump();
}

Result<std::unique_ptr<AdvRagGen>> AdvRagGen::create(const AdvRagGenOptions& options) {
  const auto refuse = [](const char* what) {
    return Error{ErrorCode::kInvalidOption, std::string("advraggen: ") + what};
  };
  if (options.rounds < 1 || options.rounds > 20) return refuse("rounds must be in 1 to 20");
  if (options.proposals < 1 || options.proposals > 64) return refuse("proposals must be in 1 to 64");
  if (options.documents_per_query < 1 || options.documents_per_query > 100)
    return refuse("documents_per_query must be in 1 to 100");
  if (options.max_new_tokens < 1 || options.max_new_tokens > 2048) return refuse("max_new_tokens must be in 1 to 2048");
  if (!(options.temperature > 0 && options.temperature <= 5)) return refuse("temperature must be above 0, at most 5");
  for (const double weight : {options.semantic_weight, options.retrieval_weight, options.copying_weight}) {
    if (!(weight >= 0 && weight <= 100)) return refuse("weights must be in 0 to 100");
  }
  return std::unique_ptr<AdvRagGen>(new AdvRagGen(options));
}

std::vector<std::pair<std::string, std::string>> AdvRagGen::parameters() const {
  return {{"rounds", std::to_string(options_.rounds)},
          {"proposals", std::to_string(options_.proposals)},
          {"documents_per_query", std::to_string(options_.documents_per_query)},
          {"max_new_tokens", std::to_string(options_.max_new_tokens)},
          {"temperature", number_text(options_.temperature)},
          {"semantic_weight", number_text(options_.semantic_weight)},
          {"retrieval_weight", number_text(options_.retrieval_weight)},
          {"copying_weight", number_text(options_.copying_weight)}};
}

Result<CraftedDocument> AdvRagGen::paraphrase(const AttackInput& input, const AttackTarget& target,
                                              const CorpusPassage& source, const std::stop_token& stop) const {
  CraftedDocument document;
  document.title = source.title;
  document.source_document = source.id;
  document.target_queries = {target.query_id};
  std::string text;
  auto trace = Paraphrasing(options_, input, target, source).run(stop, text);
  if (!trace) return trace.error();
  document.fell_back = text == source.text.bytes();
  if (document.fell_back) {
    document.note = "no paraphrase was better than the document: a plain copy";
  } else {
    document.changed.push_back({0, count_characters(text)});
  }
  document.text = UntrustedText(std::move(text));
  document.paraphrase = *std::move(trace);
  return document;
}

Result<CraftedAttack> AdvRagGen::craft(const AttackInput& input, std::stop_token stop) const {
  CraftedAttack out;
  if (input.corpus.empty() || input.targets.empty()) return out;
  if (stop.stop_requested()) return Error{ErrorCode::kCancelled, "stopped"};
  if (input.tools.encoder == nullptr || input.tools.model == nullptr)
    return Error{ErrorCode::kUnsupported, "advraggen needs the retriever's encoder and a language model"};
  Progress& progress = input.tools.progress != nullptr ? *input.tools.progress : Progress::none();
  const auto wanted = static_cast<std::size_t>(options_.documents_per_query);
  struct Job {
    const AttackTarget* target;
    const CorpusPassage* source;
  };
  std::vector<Job> jobs;
  for (const AttackTarget& target : input.targets) {
    const auto drawn = draw_irrelevant(input, name(), target.query_id, std::span(&target.gold_document, 1), wanted);
    if (!drawn) return drawn.error();
    for (const std::size_t index : *drawn) jobs.push_back({&target, &input.corpus[index]});
  }
  ProgressStage stage(progress, "advraggen", jobs.size(), "documents");
  std::mutex told;
  std::size_t ready = 0;
  out.documents.resize(jobs.size());
  const Status crafted = run_together(jobs.size(), kDocumentsAtOnce, [&](std::size_t i) -> Status {
    if (stop.stop_requested()) return Error{ErrorCode::kCancelled, "stopped"};
    auto document = paraphrase(input, *jobs[i].target, *jobs[i].source, stop);
    if (!document) return document.error();
    document->id = attack_document_id(name(), i);
    out.documents[i] = *std::move(document);
    const std::lock_guard lock(told);
    stage.update(++ready);
    return {};
  });
  if (!crafted) return crafted.error();
  out.fell_back = static_cast<std::size_t>(std::count_if(out.documents.begin(), out.documents.end(),
                                                         [](const CraftedDocument& each) { return each.fell_back; }));
  return out;
}

}  // namespace casemate
