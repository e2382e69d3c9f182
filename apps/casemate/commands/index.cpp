#include "casemate/pipeline/indexer.h"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "canary.h"
#include "casemate/defend/passage_cache.h"
#include "casemate/pipeline/prepare.h"
#include "command.h"
#include "language_model_choice.h"

namespace casemate::cli {
namespace {

struct IndexChoice {
  std::vector<std::string> paths;
  std::string store;
  std::string format = "auto";
  std::vector<std::string> labels;
  std::vector<std::string> prepare;  ///< defences; "none" for none
  EncoderChoice encoder;
  LanguageModelChoice model;  ///< loaded only where a defence is prepared with it
  IndexOptions options;
  int canaries = 0;
};

/// Opens the store, or makes it where there is none.
Result<std::unique_ptr<Store>> open_or_create(Context& context, const IndexChoice& choice,
                                              std::unique_ptr<Encoder>& encoder, bool& is_new) {
  auto store = context.open_store(choice.store, false, false);
  if (store) {
    auto loaded = context.load_encoder_of(**store, choice.encoder.encoder);
    if (!loaded) return loaded.error();
    encoder = *std::move(loaded);
    return store;
  }
  if (store.error().code != ErrorCode::kNotFound) return store.error();
  auto loaded = context.load_encoder(choice.encoder);
  if (!loaded) return loaded.error();
  encoder = *std::move(loaded);
  const auto identity = store_identity(*encoder, choice.options.chunking);
  if (!identity) return identity.error();
  is_new = true;
  StoreOptions options;
  options.load_vectors = false;
  auto made = Store::create(choice.store, *identity, options);
  if (!made) return made.error();
  if (looks_like_path(choice.encoder.encoder)) {
    std::error_code ignored;
    const std::string path = std::filesystem::absolute(choice.encoder.encoder, ignored).string();
    if (Status set = (*made)->set_setting("", kEncoderPathSetting, path); !set) return set.error();
  }
  return made;
}

/// Defences that this run makes things for: those of the store, and those asked for (RAGPart for a new store).
Result<std::vector<DefenceChoice>> defences_to_prepare(const Store& store, const IndexChoice& choice, bool is_new) {
  std::vector<std::string> asked = choice.prepare;
  if (is_new && asked.empty()) asked = {"ragpart"};
  auto out = prepared_defences(store);
  if (!out) return out;
  for (const std::string& text : asked) {
    if (text == "none") continue;
    const auto defence = parse_defence(text);
    if (!defence) return defence.error();
    const auto same = [&](const DefenceChoice& each) {
      return each.name == defence->name && each.options == defence->options;
    };
    if (std::none_of(out->begin(), out->end(), same)) out->push_back(*defence);
  }
  return out;
}

/// The defences themselves; the store remembers them once all could be made.
struct Preparation {
  std::unique_ptr<LanguageModel> model;
  std::unique_ptr<PassageCache> cache;
  std::vector<std::unique_ptr<ScanDefence>> scans;
  std::vector<std::unique_ptr<RetrievalDefence>> rankings;
};

Result<Preparation> make_preparation(Context& context, Store& store, const Encoder& encoder, const IndexChoice& choice,
                                     std::span<const DefenceChoice> defences) {
  Preparation out;
  out.cache = make_store_passage_cache(store);
  for (const DefenceChoice& defence : defences) {
    if (!prepares_with_model(defence) || out.model) continue;
    auto model = load_language_model(context, choice.model);
    if (!model) return model.error();
    out.model = *std::move(model);
  }
  DefenceServices services;
  services.encoder = &encoder;
  services.model = out.model.get();
  services.store = &store;
  services.cache = out.cache.get();
  services.pool = &context.pool();
  auto scans = prepared_scans(defences, services);
  if (!scans) return scans.error();
  out.scans = *std::move(scans);
  for (const DefenceChoice& defence : defences) {
    const auto entry = find_defence(defence.name);
    if (!entry) return entry.error();
    if ((*entry)->scans) continue;
    auto made = create_defence(defence, services);
    if (!made) return made.error();
    if (!(*made)->precomputes())
      return Error{ErrorCode::kInvalidArgument, defence.name + " needs nothing to be prepared"};
    out.rankings.push_back(*std::move(made));
  }
  for (const DefenceChoice& defence : defences) {
    if (Status remembered = remember_prepared(store, defence); !remembered) return remembered.error();
  }
  return out;
}

void print_summary(const IndexSummary& summary, const std::string& store) {
  std::cout << "read " << summary.reading.files << " files, " << summary.reading.documents << " documents\n"
            << "added " << summary.added << ", unchanged " << summary.unchanged << ", replaced " << summary.replaced
            << ", refused " << summary.refused << "; " << summary.chunks << " passages embedded\n";
  if (summary.repeated_fragments > 0)
    std::cout << summary.repeated_fragments << " passages are too short for distinct fragments: they repeat the last\n";
  if (summary.truncated_chunks > 0) {
    std::cout << summary.truncated_chunks
              << " passages are longer than the encoder's limit: their ends are stored but not embedded\n";
  }
  for (const auto& [kind, count] : summary.findings)
    std::cout << "kept out of passages: " << kind << " " << count << '\n';
  if (!summary.findings.empty()) std::cout << "(casemate documents " << store << " --findings shows where)\n";
  if (!summary.problems.empty())
    std::cout << "problems " << summary.problems.size() + summary.problems_left_out << '\n';
}

void print_json(const IndexSummary& summary) {
  nlohmann::ordered_json out = {{"files", summary.reading.files},
                                {"documents", summary.reading.documents},
                                {"added", summary.added},
                                {"unchanged", summary.unchanged},
                                {"replaced", summary.replaced},
                                {"refused", summary.refused},
                                {"chunks", summary.chunks},
                                {"repeated_fragments", summary.repeated_fragments},
                                {"truncated_chunks", summary.truncated_chunks},
                                {"findings", summary.findings},
                                {"problems", summary.problems},
                                {"problems_left_out", summary.problems_left_out}};
  std::cout << out.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
}

int run(Context& context, IndexChoice& choice) {
  const auto format = format_from_name(choice.format);
  if (!format) return context.fail(format.error());
  choice.options.reading.format = *format;
  choice.options.labels = {choice.labels.begin(), choice.labels.end()};
  std::unique_ptr<Encoder> encoder;
  bool is_new = false;
  auto store = open_or_create(context, choice, encoder, is_new);
  if (!store) return context.fail(store.error());
  const auto defences = defences_to_prepare(**store, choice, is_new);
  if (!defences) return context.fail(defences.error());
  const auto preparation = make_preparation(context, **store, *encoder, choice, *defences);
  if (!preparation) return context.fail(preparation.error());
  for (const auto& scan : preparation->scans) choice.options.recipes.push_back(&scan->recipe());
  auto summary = index_paths(choice.paths, choice.options, **store, *encoder, context.progress(), context.stop);
  if (!summary) return context.fail(summary.error());
  if (choice.canaries > 0) {
    if (Status planted =
            plant_canaries(choice.canaries, choice.options, **store, *encoder, context.progress(), context.stop);
        !planted)
      return context.fail(planted.error());
  }
  for (const auto& scan : preparation->scans) {
    // Documents that were stored before this defence was asked for.
    const auto completed =
        complete_vectors(**store, choice.options.tenant, scan->recipe(), context.progress(), context.stop);
    if (!completed) return context.fail(completed.error());
    summary->repeated_fragments += completed->repeated_fragments;
  }
  for (const auto& ranking : preparation->rankings) {
    const auto computed =
        precompute_passages(**store, choice.options.tenant, *ranking, context.progress(), context.stop);
    if (!computed) return context.fail(computed.error());
  }
  if (context.json) {
    print_json(*summary);
  } else {
    print_summary(*summary, choice.store);
  }
  return summary->problems.empty() ? kDone : kWrongUse;
}

}  // namespace

std::function<int()> set_up_index(CLI::App& app, Context& context) {
  auto choice = std::make_shared<IndexChoice>();
  IndexOptions& options = choice->options;
  app.add_option("paths", choice->paths,
                 "files and folders: text, Markdown, HTML, PDF, DOCX, CSV, TSV, JSONL (BEIR corpus), SQuAD JSON")
      ->required();
  app.add_option("--store", choice->store, "the store's folder; made if it is not there")->required();
  app.add_option("--tenant", options.tenant, "whose documents these are")->capture_default_str();
  app.add_option("--labels", choice->labels, "labels for these documents")->delimiter(',');
  app.add_flag("--trusted", options.trusted, "mark these documents trusted, for casemate seal");
  app.add_option("--format", choice->format, "auto, text, markdown, html, pdf, docx, csv, tsv, jsonl or squad")
      ->capture_default_str();
  app.add_option("--encoder", choice->encoder.encoder,
                 "encoder for a new store: a model's name or a Hugging Face folder (default all-minilm-l6-v2)");
  app.add_option("--query-prefix", choice->encoder.query_prefix, "put before queries, for a new store");
  app.add_option("--passage-prefix", choice->encoder.passage_prefix, "put before passages, for a new store");
  app.add_option("--pooling", choice->encoder.pooling,
                 "mean or cls, for a new store; default: what the model's folder says");
  app.add_option("--max-tokens", choice->encoder.max_tokens,
                 "the encoder's limit, for a new store; default: what the model's folder says");
  app.add_option("--precision", choice->encoder.precision,
                 "what the encoder computes in, for a new store: float32 (default), or fixed16, faster with AVX-512 VNNI");
  app.add_option("--chunk-tokens", options.chunking.max_tokens, "longest chunk")->capture_default_str();
  app.add_option("--chunk-overlap", options.chunking.overlap_tokens, "tokens a chunk may share with the one before")
      ->capture_default_str();
  app.add_option("--prepare", choice->prepare,
                 "make what this defence needs too, now and whenever documents are added; default for a new store: "
                 "ragpart; none: for no defence");
  add_language_model_options(app, choice->model);
  app.add_option("--canary", choice->canaries,
                 "also plant so many documents with a string that stands nowhere else: an answer that holds one has "
                 "leaked, and a guard ends it")
      ->check(CLI::Range(0, 1000));
  app.add_flag("--one-passage", options.chunking.one_passage, "do not cut documents");
  app.add_flag("--strict", options.strict, "stop at the first problem instead of listing it and going on");
  app.add_flag("--generate-ids", options.reading.generate_ids, "JSONL records without an id get one");
  app.add_flag("--hidden-files", options.reading.include_hidden_files, "read files whose names begin with a dot");
  app.add_option("--text-column", options.reading.csv.text_column, "CSV column with the text");
  app.add_option("--id-column", options.reading.csv.id_column, "CSV column with the id");
  app.add_option("--max-file-bytes", options.reading.limits.max_file_bytes, "largest file read whole")
      ->capture_default_str();
  app.add_option("--batch", options.batch_chunks, "chunks embedded and committed together")->capture_default_str();
  return [choice, &context] { return run(context, *choice); };
}

}  // namespace casemate::cli
