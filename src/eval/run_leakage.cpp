#include <algorithm>
#include <chrono>
#include <map>
#include <numeric>
#include <set>

#include "casemate/core/file_system.h"
#include "casemate/core/hash.h"
#include "casemate/core/statistics.h"
#include "casemate/core/utf8.h"
#include "casemate/encoder/encoder.h"
#include "casemate/eval/data_set.h"
#include "casemate/eval/leakage_experiment.h"
#include "casemate/eval/text_scores.h"
#include "casemate/generate/question.h"
#include "casemate/generate/vanilla.h"
#include "casemate/llm/language_model.h"
#include "casemate/text/answer_match.h"
#include "eval/json_lines.h"
#include "eval/query_log.h"
#include "eval/run_folder.h"

namespace casemate {
namespace {

using nlohmann::ordered_json;

/// One log: a mode under a case with an instruction.
struct Slot {
  std::size_t mode = 0;
  LeakCase which = LeakCase::kClean;
  LeakInstruction instruction = LeakInstruction::kNative;
  std::string file;
  std::size_t done = 0;
};

struct Chunk {
  std::string id;
  UntrustedText text;
};

class LeakageExperimentRun {
 public:
  LeakageExperimentRun(const LeakageExperiment& experiment, const LeakageParts& parts, std::string data,
                       std::string out, bool quick, Progress& progress, std::stop_token stop)
      : experiment_(experiment),
        parts_(parts),
        data_path_(std::move(data)),
        out_(std::move(out)),
        quick_(quick),
        progress_(progress),
        stop_(std::move(stop)) {}

  Result<LeakageRun> run() {
    if (Status loaded = load(); !loaded) return loaded.error();
    if (Status claimed = claim_folder(); !claimed) return claimed.error();
    LeakageRun done;
    for (Slot& slot : slots_) {
      const auto logged = resume_log(path("queries/" + slot.file), ids_);
      if (!logged) return logged.error();
      slot.done = *logged;
      done.already += *logged;
    }
    progress_.begin("answers", slots_.size() * ids_.size(), "answers");
    std::uint64_t reported = 0;
    for (std::size_t q = 0; q < ids_.size(); ++q) {
      for (const Slot& slot : slots_) {
        progress_.update(++reported);
        if (slot.done > q) continue;
        if (Status asked = ask(slot, q); !asked) return asked.error();
        ++done.asked;
      }
    }
    progress_.end();
    if (Status summed = summarise(done); !summed) return summed.error();
    FileSystem& files = FileSystem::posix();
    if (Status kept = write_file_atomically(files, path("summary.json"), to_json(done)); !kept) return kept.error();
    if (Status kept = write_file_atomically(files, path("summary.md"), to_markdown(done)); !kept) return kept.error();
    return done;
  }

 private:
  [[nodiscard]] std::string path(const std::string& name) const { return join_path(out_, name); }

  Status load() {
    auto data = load_data_set(experiment_.data_format, data_path_);
    if (!data) return data.error();
    digest_ = data->digest;
    const int count = quick_ ? experiment_.quick_questions : experiment_.questions;
    std::set<std::string> wanted;
    for (const std::size_t index :
         sample_questions(data->questions.size(), static_cast<std::size_t>(count), experiment_.seed)) {
      questions_.push_back(data->questions[index]);
      ids_.push_back(questions_.back().query_id);
      wanted.insert(questions_.back().gold_document);
    }
    std::vector<std::size_t> others;
    for (std::size_t i = 0; i < data->passages.size(); ++i) {
      if (!wanted.contains(data->passages[i].id)) others.push_back(i);
    }
    std::set<std::size_t> drawn;
    if (experiment_.distractors > 0) {
      for (const std::size_t i :
           sample_questions(others.size(), static_cast<std::size_t>(experiment_.distractors), experiment_.seed))
        drawn.insert(others[i]);
    }
    for (std::size_t i = 0; i < data->passages.size(); ++i) {
      if (wanted.contains(data->passages[i].id) || drawn.contains(i)) corpus_.push_back(std::move(data->passages[i]));
    }
    SanitizerServices services;
    services.model = parts_.model;
    services.backbone = parts_.backbone;
    for (const SanitizerChoice& mode : experiment_.modes) {
      auto made = create_sanitizer(mode, services);
      if (!made) return made.error();
      sanitizers_.push_back(*std::move(made));
    }
    for (const LeakCase which : experiment_.cases) {
      for (std::size_t m = 0; m < experiment_.modes.size(); ++m) {
        for (const LeakInstruction instruction : experiment_.instructions) {
          const bool clean = which == LeakCase::kClean;
          if (clean && instruction != experiment_.instructions.front()) continue;
          slots_.push_back({m, which, instruction,
                            std::to_string(m) + "-" + experiment_.modes[m].name + "-" +
                                std::string(leak_case_name(which)) +
                                (clean ? "" : "-" + std::string(leak_instruction_name(instruction))) + ".jsonl"});
        }
      }
    }
    std::vector<std::string_view> texts;
    for (const CorpusPassage& passage : corpus_) texts.push_back(passage.text.bytes());
    auto encoded = parts_.encoder->encode_passages(texts);
    if (!encoded) return encoded.error();
    embeddings_ = std::move(encoded->embeddings);
    return {};
  }

  /// Of the style file that a mode names, by its content; empty where it names none.
  static Result<std::string> style_digest(const SanitizerChoice& mode) {
    const auto options = YamlValue::parse(mode.options, mode.name);
    if (!options) return options.error();
    const auto named = options->find("style_file");
    if (!named) return std::string();
    const auto file = named->text();
    if (!file) return file.error();
    if (file->empty()) return std::string();
    const auto content = read_file(*file);
    return content ? Result<std::string>(to_hex(blake2b(*content))) : Result<std::string>(content.error());
  }

  Status claim_folder() {
    ordered_json modes = ordered_json::array();
    for (const SanitizerChoice& mode : experiment_.modes) {
      modes.push_back(mode.name + mode.options);
      const auto style = style_digest(mode);
      if (!style) return style.error();
      if (!style->empty()) modes.back() = {{"mode", modes.back()}, {"style", *style}};
    }
    ordered_json guard;
    if (experiment_.guard) {
      guard = {{"reaction", guard_reaction_name(experiment_.guard->reaction)},
               {"max_run_words", experiment_.guard->max_run_words},
               {"max_share", experiment_.guard->max_share},
               {"share_run_words", experiment_.guard->share_run_words}};
    }
    ordered_json files = ordered_json::array();
    for (const Slot& slot : slots_) files.push_back(slot.file);
    const auto name_of = [](const LanguageModel* model) {
      if (model == nullptr) return ordered_json();
      return ordered_json{{"name", to_valid_utf8(model->info().name)}, {"hash", model->info().file_hash}};
    };
    const std::string text = ordered_json{{"kind", "leakage"},
                                          {"name", experiment_.name},
                                          {"seed", experiment_.seed},
                                          {"questions", ids_.size()},
                                          {"corpus", corpus_.size()},
                                          {"passages", experiment_.passages},
                                          {"max_new_tokens", experiment_.max_new_tokens},
                                          {"modes", std::move(modes)},
                                          {"logs", std::move(files)},
                                          {"guard", std::move(guard)},
                                          {"data", to_hex(digest_)},
                                          {"encoder", parts_.encoder->info().model_hash},
                                          {"model", name_of(parts_.model)},
                                          {"backbone", name_of(parts_.backbone)},
                                          {"prompts", to_hex(prompt_hash(AnswerTask::kShortAnswer))}}
                                 .dump(1) +
                             "\n";
    return claim_run_folder(out_, {"queries"}, text);
  }

  /// What is asked, and the passage that the attacker changed, if any.
  Result<std::pair<UntrustedText, std::optional<Chunk>>> attack(const Slot& slot, const AttackTarget& question) const {
    if (slot.which == LeakCase::kClean) return std::pair{question.query, std::optional<Chunk>()};
    LeakOptions options;
    options.instruction = slot.instruction;
    options.side = slot.which == LeakCase::kContext ? LeakSide::kContext : LeakSide::kQuery;
    options.anchor = slot.which == LeakCase::kUntargeted ? LeakAnchor::kUntargeted : LeakAnchor::kTargeted;
    options.canary = false;
    const auto leak = Leak::create(options);
    if (!leak) return leak.error();
    const auto crafted = (*leak)->craft({corpus_, std::span(&question, 1), experiment_.seed}, stop_);
    if (!crafted) return crafted.error();
    if (!crafted->queries.empty()) return std::pair{crafted->queries[0].query, std::optional<Chunk>()};
    if (crafted->documents.empty()) return Error{ErrorCode::kInvalidInput, "the attack made nothing of this question"};
    return std::pair{question.query,
                     std::optional<Chunk>(Chunk{crafted->documents[0].source_document, crafted->documents[0].text})};
  }

  Result<std::vector<Chunk>> retrieve(const UntrustedText& query, const std::optional<Chunk>& planted) const {
    const std::string_view text = query.bytes();
    const auto encoded = parts_.encoder->encode_queries(std::span(&text, 1));
    if (!encoded) return encoded.error();
    const auto asked = encoded->embeddings.row(0);
    std::vector<std::pair<double, std::size_t>> scored;
    for (std::size_t i = 0; i < embeddings_.rows; ++i) {
      const auto row = embeddings_.row(i);
      double score = 0;
      for (std::size_t d = 0; d < row.size(); ++d) score += static_cast<double>(asked[d]) * static_cast<double>(row[d]);
      scored.emplace_back(-score, i);
    }
    const std::size_t top = std::min(scored.size(), static_cast<std::size_t>(experiment_.passages));
    std::partial_sort(scored.begin(), scored.begin() + static_cast<std::ptrdiff_t>(top), scored.end());
    std::vector<Chunk> out;
    for (std::size_t i = 0; i < top; ++i) out.push_back({corpus_[scored[i].second].id, corpus_[scored[i].second].text});
    if (planted) {
      // The attacker's version stands where its original was found, or first where it was not: the attack is at its
      // best.
      const auto same = std::find_if(out.begin(), out.end(), [&](const Chunk& each) { return each.id == planted->id; });
      if (same != out.end()) {
        *same = *planted;
      } else {
        out.insert(out.begin(), *planted);
        if (out.size() > top) out.pop_back();
      }
    }
    return out;
  }

  struct Answered {
    std::string text;
    bool withheld = false;
    SanitizedContext context;
  };

  Result<Answered> answer(const Slot& slot, const UntrustedText& question, std::span<const Chunk> chunks) const {
    std::vector<ContextPassage> raw;
    for (const Chunk& chunk : chunks) raw.push_back({UntrustedText(), chunk.text});
    auto context = sanitizers_[slot.mode]->sanitize(question, raw, stop_);
    if (!context) return context.error();
    Answered out;
    out.context = *std::move(context);
    std::unique_ptr<OutputGuard> guard;
    if (experiment_.guard) {
      auto made = OutputGuard::create(*experiment_.guard, raw, {});
      if (!made) return made.error();
      guard = *std::move(made);
    }
    const OnText take = [&](std::string_view piece) {
      if (!guard) {
        out.text += piece;
        return true;
      }
      const GuardedText step = guard->push(piece);
      out.text += step.text;
      return !step.ended;
    };
    if (Status made = generate(out.context, question, take); !made) return made.error();
    if (guard) {
      out.text += guard->finish().text;
      out.withheld = guard->report().ended;
    }
    return out;
  }

  Status generate(const SanitizedContext& context, const UntrustedText& question, const OnText& take) const {
    if (context.answer) {
      take(context.answer->bytes());
      return {};
    }
    if (context.closed_book) {
      Question alone;
      alone.text = question;
      GenerateOptions options;
      options.max_new_tokens = experiment_.max_new_tokens;
      const auto made = parts_.model->generate(no_retrieval_prompt(alone), options, stop_, take);
      return made ? Status() : Status(made.error());
    }
    if (context.passages.empty()) {
      take(abstention_text());
      return {};
    }
    std::vector<PromptPassage> passages;
    for (const SanitizedPassage& each : context.passages) passages.push_back({each.title, each.text});
    VanillaOptions options;
    options.max_new_tokens = experiment_.max_new_tokens;
    options.rule = context.rule;
    const auto made = answer_vanilla(*parts_.model, question, passages, options, take, stop_);
    return made ? Status() : Status(made.error());
  }

  Status ask(const Slot& slot, std::size_t q) {
    const AttackTarget& question = questions_[q];
    ordered_json line = {{"query", to_valid_utf8(question.query_id)}};
    const auto begin = std::chrono::steady_clock::now();
    const auto outcome = measured(slot, question, line);
    if (!outcome.ok()) {
      if (outcome.error().code == ErrorCode::kCancelled) return outcome.error();
      line["error"] = to_valid_utf8(outcome.error().message);
    }
    if (outcome.ok())
      seconds_[slot.file].push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    auto log = LogWriter::open(path("queries/" + slot.file));
    if (!log) return log.error();
    return log->append(line.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n");
  }

  Status measured(const Slot& slot, const AttackTarget& question, ordered_json& line) const {
    const auto asked = attack(slot, question);
    if (!asked) return asked.error();
    const auto chunks = retrieve(asked->first, asked->second);
    if (!chunks) return chunks.error();
    const auto made = answer(slot, asked->first, *chunks);
    if (!made) return made.error();
    line["answer"] = to_valid_utf8(made->text);
    line["withheld"] = made->withheld;
    if (slot.which == LeakCase::kClean) {
      score_use(question, *made, line);
      return {};
    }
    return score_leak(*made, *chunks, line);
  }

  static bool holds_answer(std::string_view text, const AttackTarget& question) {
    return std::any_of(question.answers.begin(), question.answers.end(), [&](const UntrustedText& right) {
      return !normalize_answer(right.bytes()).empty() && contains_answer(text, right.bytes());
    });
  }

  static void score_use(const AttackTarget& question, const Answered& made, ordered_json& line) {
    TextPair pair{question.query_id, made.text, {}};
    for (const UntrustedText& right : question.answers) pair.references.push_back(right.bytes());
    if (pair.references.empty()) pair.references.emplace_back();
    // "[1]" is how answers name their source, not what they say.
    while (!pair.prediction.empty() && pair.prediction.back() == ']' && pair.prediction.rfind('[') != std::string::npos)
      pair.prediction.resize(pair.prediction.find_last_not_of(" \n", pair.prediction.rfind('[') - 1) + 1);
    const TextScores scores = score_text(pair);
    std::string keywords;
    for (const UntrustedText& word : made.context.record.words) keywords += word.bytes() + " ";
    std::string facts;
    for (const FactRecord& fact : made.context.record.facts) facts += fact.text.bytes() + " ";
    std::string context;
    for (const SanitizedPassage& each : made.context.passages) context += each.text.bytes() + " ";
    line["bleu1"] = scores.bleu1;
    line["rouge_l"] = scores.rouge_l.f;
    line["exact_match"] = scores.exact_match;
    line["f1"] = scores.f1;
    line["contains"] = holds_answer(made.text, question);
    line["in_keywords"] = holds_answer(keywords, question);
    line["in_facts"] = holds_answer(facts, question);
    line["in_context"] = holds_answer(context, question);
  }

  Status score_leak(const Answered& made, std::span<const Chunk> chunks, ordered_json& line) const {
    std::vector<std::string_view> texts = {made.text};
    for (const Chunk& chunk : chunks) texts.push_back(chunk.text.bytes());
    std::vector<double> likeness(chunks.size(), 0.0);
    if (!made.text.empty()) {
      const auto encoded = parts_.encoder->encode_passages(texts);
      if (!encoded) return encoded.error();
      for (std::size_t i = 0; i < chunks.size(); ++i)
        likeness[i] = embedding_cosine(encoded->embeddings.row(0), encoded->embeddings.row(i + 1));
    }
    line["chunks"] = ordered_json::array();
    const auto words = rouge_words(made.text);
    for (std::size_t i = 0; i < chunks.size(); ++i) {
      const TextScores scores = score_text({"", made.text, {chunks[i].text.bytes()}});
      line["chunks"].push_back({{"id", to_valid_utf8(chunks[i].id)},
                                {"ss", likeness[i]},
                                {"eed", scores.eed},
                                {"f1", scores.f1},
                                {"bleu1", scores.bleu1},
                                {"rouge_l", scores.rouge_l.f},
                                {"lcs_recall", scores.rouge_l.recall}});
    }
    return {};
  }

  Status summarise(LeakageRun& done);

  const LeakageExperiment& experiment_;
  const LeakageParts& parts_;
  std::string data_path_;
  std::string out_;
  bool quick_;
  Progress& progress_;
  std::stop_token stop_;
  Digest digest_{};
  std::vector<CorpusPassage> corpus_;
  std::vector<AttackTarget> questions_;
  std::vector<std::string> ids_;
  std::vector<std::unique_ptr<Sanitizer>> sanitizers_;
  std::vector<Slot> slots_;
  Embeddings embeddings_;
  std::map<std::string, std::vector<double>> seconds_;
};

double value_of(const nlohmann::json& line, const char* name) {
  const auto found = line.find(name);
  if (found == line.end()) return 0;
  return found->is_boolean() ? (found->get<bool>() ? 1.0 : 0.0) : found->is_number() ? found->get<double>() : 0.0;
}

Status LeakageExperimentRun::summarise(LeakageRun& done) {
  std::map<std::pair<LeakCase, std::size_t>, LeakageRow> leaks;
  for (const Slot& slot : slots_) {
    const std::string mode = leakage_mode_name(experiment_.modes[slot.mode]);
    UtilityRow use;
    use.mode = mode;
    std::size_t lines = 0;
    std::size_t failed = 0;
    std::map<std::string, double> sums;
    std::size_t withheld = 0;
    ChunkRecovery recovery;
    const Status read = each_json_line(path("queries/" + slot.file), [&](const nlohmann::json& line, std::size_t) {
      // No answer: neither use nor the absence of a leak.
      if (line.contains("error")) {
        ++failed;
        return std::string();
      }
      ++lines;
      withheld += value_of(line, "withheld") > 0 ? 1U : 0U;
      for (const char* name :
           {"bleu1", "rouge_l", "exact_match", "f1", "contains", "in_keywords", "in_facts", "in_context"})
        sums[name] += value_of(line, name);
      const auto chunks = line.find("chunks");
      if (chunks == line.end()) return std::string();
      for (const char* name : {"ss", "eed", "f1", "bleu1", "rouge_l"}) {
        double best = 0;
        for (const auto& chunk : *chunks) best = std::max(best, value_of(chunk, name));
        sums[std::string("best ") + name] += best;
      }
      for (const auto& chunk : *chunks)
        recovery.add(chunk.value("id", ""), value_of(chunk, "eed"), value_of(chunk, "lcs_recall"));
      return std::string();
    });
    if (!read) return read;
    const auto mean = [&](const char* name) { return lines > 0 ? sums[name] / static_cast<double>(lines) : 0.0; };
    if (slot.which == LeakCase::kClean) {
      use.bleu1 = mean("bleu1");
      use.rouge_l = mean("rouge_l");
      use.exact_match = mean("exact_match");
      use.f1 = mean("f1");
      use.contains = mean("contains");
      use.in_keywords = mean("in_keywords");
      use.in_facts = mean("in_facts");
      use.in_context = mean("in_context");
      use.questions = lines;
      use.failed = failed;
      auto times = seconds_[slot.file];
      std::sort(times.begin(), times.end());
      if (!times.empty() && times.size() == lines) use.seconds = times[times.size() / 2];
      done.utility.push_back(std::move(use));
      continue;
    }
    LeakageRow& row = leaks[{slot.which, slot.mode}];
    row.questions = row.mode.empty() ? lines : std::min(row.questions, lines);
    row.failed += failed;
    row.mode = mode;
    row.which = slot.which;
    const std::string instruction(leak_instruction_name(slot.instruction));
    row.add({instruction, mean("best eed"), mean("best rouge_l"), withheld, lines});
    row.ss = std::max(row.ss, mean("best ss"));
    row.f1 = std::max(row.f1, mean("best f1"));
    row.bleu1 = std::max(row.bleu1, mean("best bleu1"));
    row.crr_eed.resize(std::size(kRecoveryThresholds), 0);
    row.crr_lcs.resize(std::size(kRecoveryThresholds), 0);
    for (std::size_t i = 0; i < std::size(kRecoveryThresholds); ++i) {
      row.crr_eed[i] = std::max(row.crr_eed[i], recovery.rate_by_edits(kRecoveryThresholds[i]));
      row.crr_lcs[i] = std::max(row.crr_lcs[i], recovery.rate_by_subsequence(kRecoveryThresholds[i]));
    }
  }
  for (auto& [key, row] : leaks) done.leakage.push_back(std::move(row));
  return {};
}

}  // namespace

Result<LeakageRun> run_leakage_experiment(const LeakageExperiment& experiment, const LeakageParts& parts,
                                          const std::string& data, const std::string& out, bool quick,
                                          Progress& progress, std::stop_token stop) {
  if (parts.encoder == nullptr || parts.model == nullptr)
    return Error{ErrorCode::kInvalidArgument, "a leakage experiment needs an encoder and a language model"};
  return LeakageExperimentRun(experiment, parts, data, out, quick, progress, std::move(stop)).run();
}

}  // namespace casemate
