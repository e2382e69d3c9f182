#include "open_pipeline.h"

namespace casemate::cli {
namespace {

/// The named policy with the defences that were asked for besides.
Result<Policy> chosen_policy(const PipelineChoice& choice) {
  auto policy = find_policy(choice.query.policy);
  if (!policy) return policy;
  for (const std::string& text : choice.defences) {
    const auto defence = parse_defence(text);
    if (!defence) return defence.error();
    policy->name += " + " + defence->name + (defence->options == "{}" ? "" : defence->options);
    policy->defences.push_back(*defence);
  }
  return policy;
}

}  // namespace

void add_pipeline_options(CLI::App& app, PipelineChoice& choice, const char* text_name) {
  add_query_options(app, choice.query, text_name);
  app.add_option(
      "--defence", choice.defences,
      "a defence besides the policy's, as NAME or 'NAME{option: value, ...}'; may be given again, they run in "
      "this order (casemate policies --defences lists them)");
  app.add_option("--reranker", choice.reranker,
                 "folder of a SequenceClassification model, for rerank by cross-encoder");
  app.add_option("--seed", choice.query.seed, "of whatever a defence draws")->capture_default_str();
  add_language_model_options(app, choice.model);
  app.add_flag("--explain", choice.explain, "what each stage saw and decided, and the ranking without defences");
}

Result<OpenPipeline> open_pipeline(Context& context, const PipelineChoice& choice, bool answers) {
  OpenPipeline out;
  auto policy = chosen_policy(choice);
  if (!policy) return policy.error();
  out.policy = *std::move(policy);
  auto options = query_options(choice.query);
  if (!options) return options.error();
  out.options = *std::move(options);
  out.options.explain = choice.explain;
  auto store = context.open_store(choice.query.store, true);
  if (!store) return store.error();
  out.store = *std::move(store);
  auto encoder =
      encoder_for(context, *out.store, choice.query.encoder, out.options.mode.value_or(out.policy.retrieval.mode));
  if (!encoder) return encoder.error();
  out.encoder = *std::move(encoder);
  bool asks_model = answers;
  for (const DefenceChoice& defence : out.policy.defences) asks_model = asks_model || needs_model(defence);
  if (asks_model) {
    auto model = load_language_model(context, choice.model);
    if (!model) return model.error();
    out.model = *std::move(model);
  }
  if (!choice.reranker.empty()) {
    auto reranker = load_reranker(choice.reranker, {}, context.pool());
    if (!reranker) return reranker.error();
    out.reranker = *std::move(reranker);
  }
  PipelineParts parts;
  parts.store = out.store.get();
  parts.encoder = out.encoder.get();
  parts.model = out.model.get();
  parts.reranker = out.reranker.get();
  out.cache = make_store_passage_cache(*out.store);
  parts.cache = out.cache.get();
  parts.pool = &context.pool();
  auto pipeline = Pipeline::create(parts, out.policy);
  if (!pipeline) return pipeline.error();
  out.pipeline = *std::move(pipeline);
  return out;
}

}  // namespace casemate::cli
