#include "context.h"

#include <iostream>

#include "casemate/core/untrusted_text.h"

namespace casemate::cli {
namespace {

Result<BertEncoderOptions> encoder_options(const EncoderChoice& choice) {
  BertEncoderOptions options;
  options.query_prefix = choice.query_prefix;
  options.passage_prefix = choice.passage_prefix;
  options.max_tokens = choice.max_tokens;
  if (!choice.pooling.empty()) {
    const auto pooling = parse_pooling(choice.pooling);
    if (!pooling) return pooling.error();
    options.pooling = *pooling;
  }
  if (!choice.precision.empty()) {
    const auto precision = parse_precision(choice.precision);
    if (!precision) return precision.error();
    options.precision = *precision;
  }
  return options;
}

}  // namespace

const ThreadPool& Context::pool() {
  if (pool_ == nullptr) pool_ = std::make_unique<ThreadPool>(threads);
  return *pool_;
}

TerminalProgress& Context::progress() {
  if (progress_ == nullptr) progress_ = std::make_unique<TerminalProgress>(quiet);
  return *progress_;
}

int Context::fail(const Error& error) {
  std::cerr << "casemate: error: " << UntrustedText(error.message).for_terminal() << '\n';
  return exit_code_of(error);
}

void Context::say(const std::string& message) const {
  if (!quiet) std::cerr << message << '\n';
}

Result<ModelStore> Context::models() const {
  auto manifest = manifest_file.empty() ? builtin_manifest() : load_manifest(manifest_file);
  if (!manifest) return manifest.error();
  return ModelStore::open(models_folder, *std::move(manifest));
}

Result<std::string> Context::model_path(const std::string& name_or_path) const {
  if (looks_like_path(name_or_path)) return name_or_path;
  const auto store = models();
  if (!store) return store.error();
  return store->path_of(name_or_path);
}

Result<std::unique_ptr<Encoder>> Context::load_encoder(const EncoderChoice& choice) {
  const std::string name = choice.encoder.empty() ? kDefaultEncoder : choice.encoder;
  EncoderChoice complete = choice;
  if (!looks_like_path(name)) {
    // An imported model may say how it wants its texts.
    const auto store = models();
    if (!store) return store.error();
    const auto info = store->find(name);
    if (!info) return info.error();
    if (complete.query_prefix.empty()) complete.query_prefix = info->overrides.query_prefix.value_or("");
    if (complete.passage_prefix.empty()) complete.passage_prefix = info->overrides.passage_prefix.value_or("");
    if (complete.pooling.empty()) complete.pooling = info->overrides.pooling.value_or("");
  }
  const auto path = model_path(name);
  if (!path) return path.error();
  auto options = encoder_options(complete);
  if (!options) return options.error();
  return load_bert_encoder(*path, *options, pool());
}

Result<std::unique_ptr<Encoder>> Context::load_encoder_of(const Store& store, const std::string& name_or_path) {
  const EncoderIdentity& identity = store.encoder();
  std::string name = name_or_path;
  if (name.empty()) {
    const auto remembered = store.setting("", kEncoderPathSetting);
    if (!remembered) return remembered.error();
    name = remembered->value_or(identity.model);
  }
  const auto path = model_path(name);
  if (!path)
    return path.error().in(store.path() + " was made with the encoder " + UntrustedText(identity.model).for_log());
  BertEncoderOptions options;
  options.name = identity.model;
  const auto pooling = parse_pooling(identity.pooling);
  if (!pooling) return pooling.error();
  options.pooling = *pooling;
  const auto precision = parse_precision(identity.precision);
  if (!precision) return precision.error();
  options.precision = *precision;
  options.normalize = identity.normalised;
  options.max_tokens = identity.max_tokens;
  options.query_prefix = identity.query_prefix;
  options.passage_prefix = identity.passage_prefix;
  return load_bert_encoder(*path, options, pool());
}

Result<std::unique_ptr<Store>> Context::open_store(const std::string& path, bool read_only, bool load_vectors) {
  StoreOptions options;
  options.read_only = read_only;
  options.load_vectors = load_vectors;
  auto store = Store::open(path, options);
  if (!store) return store.error();
  const OpenReport& report = (*store)->open_report();
  for (const DamagedSegment& segment : report.damaged) {
    std::cerr << "casemate: " << segment.file << " is damaged (" << segment.reason
              << ") and not served; index its documents again\n";
  }
  if (report.leftovers_removed && !report.leftovers.empty()) {
    say("casemate: removed " + std::to_string(report.leftovers.size()) + " files of an interrupted run");
  }
  return store;
}

}  // namespace casemate::cli
