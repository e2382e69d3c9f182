#include "casemate/eval/data_set.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "casemate/core/nearest_name.h"
#include "casemate/core/random.h"
#include "eval/data/data_builder.h"

namespace casemate {
namespace {

Digest digest_of(const DataSet& data) {
  FieldHasher hasher;
  for (const CorpusPassage& passage : data.passages) {
    hasher.add(passage.id);
    hasher.add(passage.text.bytes());
  }
  for (const AttackTarget& question : data.questions) {
    hasher.add(question.query_id);
    hasher.add(question.query.bytes());
    hasher.add(question.gold_document);
    for (const UntrustedText& answer : question.answers) hasher.add(answer.bytes());
  }
  for (const Judgements& judged : data.judgements) {
    for (const auto& [document, grade] : judged) hasher.add(document + "=" + std::to_string(grade));
  }
  return hasher.finish();
}

struct Loader {
  DataFormat format;
  Status (*load)(const std::string& path, DataSet& data);
};

/// In order of name.
constexpr std::array kLoaders = {
    Loader{{"beir", "a BEIR folder: corpus.jsonl, queries.jsonl, qrels/test.tsv"}, load_beir},
    Loader{{"bipia", "BIPIA's contexts with questions, and its instructions where they lie beside"}, load_bipia},
    Loader{{"chatdoctor", "medical dialogues (HealthcareMagic, ChatDoctor): [{input, output}]"}, load_chatdoctor},
    Loader{{"folder", "files of any kind, and questions.jsonl"}, load_folder},
    Loader{{"musique", "MuSiQue: questions with paragraphs, and NAME_corpus.json where it lies beside"}, load_musique},
    Loader{{"nq-open", "NQ-open: questions and answers", false, true}, load_nq_open},
    Loader{{"poisonedrag", "PoisonedRAG's targets: questions, wrong answers and texts that support them", false, true},
           load_poisonedrag},
    Loader{{"squad", "SQuAD 1.1 JSON, or a zip file with one"}, load_squad},
    Loader{{"webquestions", "WebQuestions: questions and answers", false, true}, load_webquestions},
    Loader{{"wikitext", "WikiText: articles under their headings, a passage a line", true, false}, load_wikitext},
};

constexpr auto kFormats = [] {
  std::array<DataFormat, kLoaders.size()> out{};
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = kLoaders[i].format;
  return out;
}();

Result<const Loader*> find_loader(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Loader& each : kLoaders) {
    if (each.format.name == name) return &each;
    names.push_back(each.format.name);
  }
  return Error{ErrorCode::kInvalidOption, "\"" + UntrustedText(std::string(name)).for_log(60) +
                                              "\" is not a data set format" + name_hint(name, names)};
}

/// Passages of another data set in place of its own; its questions are dropped.
Status take_corpus(const DataSource& source, DataSet& data) {
  const auto loader = find_loader(source.corpus_format);
  if (!loader) return loader.error();
  if (!(*loader)->format.passages) {
    return Error{ErrorCode::kInvalidOption, "\"" + source.corpus_format + "\" holds no passages: it is no corpus"};
  }
  DataSet corpus;
  if (Status loaded = (*loader)->load(source.corpus_path, corpus); !loaded) return loaded;
  data.passages = std::move(corpus.passages);
  data.path = source.corpus_path;
  data.index_passages = corpus.index_passages;
  data.broken += corpus.broken;
  data.problems.insert(data.problems.end(), corpus.problems.begin(), corpus.problems.end());
  data.has_gold = false;
  data.judgements.clear();
  for (AttackTarget& question : data.questions) question.gold_document.clear();
  return {};
}

}  // namespace

std::span<const DataFormat> data_formats() noexcept { return kFormats; }

Result<DataFormat> find_data_format(std::string_view name) {
  const auto loader = find_loader(name);
  if (!loader) return loader.error();
  return (*loader)->format;
}

Result<DataSet> load_data_set(std::string_view format, const std::string& path) {
  return load_data_set(DataSource{std::string(format), path, "", ""});
}

Result<DataSet> load_data_set(const DataSource& source) {
  const auto loader = find_loader(source.format);
  if (!loader) return loader.error();
  const DataFormat& format = (*loader)->format;
  if (!format.questions) {
    return Error{ErrorCode::kInvalidOption, "\"" + source.format + "\" holds no questions: it serves as `corpus`"};
  }
  if (!format.passages && source.corpus_format.empty()) {
    return Error{ErrorCode::kInvalidOption,
                 "\"" + source.format + "\" holds no passages: name some with corpus: {format: .., path: ..}"};
  }
  DataSet data;
  data.path = source.path;
  if (Status loaded = (*loader)->load(source.path, data); !loaded) return loaded.error();
  if (!source.corpus_format.empty()) {
    if (Status taken = take_corpus(source, data); !taken) return taken.error();
  }
  const std::string shown = UntrustedText(source.path).for_log();
  const std::string first = data.problems.empty() ? "" : "; the first that is broken: " + data.problems.front();
  if (data.passages.empty()) return Error{ErrorCode::kInvalidInput, shown + ": holds no passage" + first};
  if (data.questions.empty()) {
    return Error{ErrorCode::kInvalidInput,
                 shown + ": holds no question" +
                     (data.without_gold > 0 ? " whose answering passage is in the corpus" : "") + first};
  }
  data.digest = digest_of(data);
  return data;
}

std::vector<std::size_t> sample_questions(std::size_t questions, std::size_t count, std::uint64_t seed) {
  std::vector<std::size_t> all(questions);
  std::iota(all.begin(), all.end(), std::size_t{0});
  if (count == 0 || count >= questions) return all;
  RandomStream random(seed, "eval/sample-questions");
  for (std::size_t i = 0; i < count; ++i) std::swap(all[i], all[i + random.below(questions - i)]);
  all.resize(count);
  std::sort(all.begin(), all.end());
  return all;
}

void shrink_corpus(DataSet& data, std::span<const std::string> asked, std::size_t count, std::uint64_t seed) {
  if (count == 0 || count >= data.passages.size()) return;
  const auto answering = [&](std::size_t question) {
    std::vector<std::string> out = {data.questions[question].gold_document};
    if (data.judgements.empty()) return out;
    for (const auto& [document, grade] : data.judgements[question]) {
      if (grade > 0) out.push_back(document);
    }
    return out;
  };
  const std::set<std::string_view> ids(asked.begin(), asked.end());
  std::set<std::string> kept;
  for (std::size_t q = 0; q < data.questions.size(); ++q) {
    if (!ids.contains(data.questions[q].query_id)) continue;
    for (std::string& document : answering(q)) kept.insert(std::move(document));
  }
  std::vector<std::size_t> others;
  std::size_t there = 0;
  for (std::size_t p = 0; p < data.passages.size(); ++p) {
    if (kept.contains(data.passages[p].id)) {
      ++there;
    } else {
      others.push_back(p);
    }
  }
  RandomStream random(seed, "eval/shrink-corpus");
  for (std::size_t i = 0; there < count && i < others.size(); ++i, ++there) {
    std::swap(others[i], others[i + random.below(others.size() - i)]);
    kept.insert(data.passages[others[i]].id);
  }
  std::erase_if(data.passages, [&](const CorpusPassage& each) { return !kept.contains(each.id); });
  std::vector<AttackTarget> questions;
  std::vector<Judgements> judgements;
  for (std::size_t q = 0; q < data.questions.size(); ++q) {
    const auto documents = answering(q);
    const bool has_all = std::all_of(documents.begin(), documents.end(), [&](const std::string& document) {
      return document.empty() || kept.contains(document);
    });
    if (!has_all) continue;
    if (!data.judgements.empty()) judgements.push_back(std::move(data.judgements[q]));
    questions.push_back(data.questions[q]);
  }
  data.questions = std::move(questions);
  data.judgements = std::move(judgements);
  data.index_passages = true;
  data.digest = blake2b(to_hex(data.digest) + "|" + std::to_string(count) + "|" + std::to_string(seed));
}

}  // namespace casemate
