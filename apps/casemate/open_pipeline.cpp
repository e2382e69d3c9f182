#include "open_pipeline.h"

#include <algorithm>

namespace casemate::cli {
namespace {

/// What was asked for in place of the policy's own way to answer, also in its name.
Status choose_generation(const GenerationOptions& options, Policy& policy) {
  GenerationChoice& choice = policy.generation;
  if (!options.aggregation.empty()) {
    const auto method = find_aggregation(options.aggregation);
    if (!method) return method.error();
    choice.aggregation = *method;
    policy.name += " + " + options.aggregation;
  }
  if (options.group_size > 0) choice.group_size = options.group_size;
  choice.long_text = choice.long_text || options.long_text;
  // Sentences need more room than the few words that the policy may have had in mind.
  if (options.long_text) {
    const RobustOptions usual =
        robust_options(choice.aggregation.value_or(Aggregation::kKeyword), AnswerTask::kLongText);
    policy.max_new_tokens = std::max(policy.max_new_tokens, usual.max_new_tokens);
  }
  choice.certify = choice.certify || options.certify;
  if (options.planted.planted > 0) choice.planted = options.planted;
  return {};
}

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
  if (Status generation = choose_generation(choice.generation, *policy); !generation) return generation.error();
  if (Status protection = choose_protection(choice.generation.sanitize, choice.generation.guard, *policy); !protection)
    return protection.error();
  if (Status candidates = choose_candidates(choice.candidates, *policy); !candidates) return candidates.error();
  return policy;
}

}  // namespace

void add_candidate_options(CLI::App& app, CandidateChoice& choice) {
  app.add_option(
      "--candidates", choice.method,
      "how dense retrieval finds passages: exact, or hnsw or ivf, which are faster over millions of passages "
      "and may miss some (casemate prepare --candidates makes them); default: as the policy says");
  app.add_option(
      "--exact-below", choice.exact_below,
      "look at every passage of a tenant with fewer passages, which is faster; 0: as the policy says (1000000)");
}

Status choose_candidates(const CandidateChoice& choice, Policy& policy) {
  CandidateOptions& options = policy.retrieval.candidates;
  if (choice.exact_below > 0) options.exact_below = choice.exact_below;
  if (choice.method.empty()) return {};
  const auto method = parse_candidate_method(choice.method);
  if (!method) return method.error();
  options.method = *method;
  options.shelf = choice.shelf;
  policy.name += " + candidates " + choice.method;
  return {};
}

Status choose_protection(const std::string& sanitize, const std::string& guard, Policy& policy) {
  if (!sanitize.empty()) {
    policy.sanitize.reset();
    if (sanitize != "none") {
      const auto sanitizer = parse_sanitizer(sanitize);
      if (!sanitizer) return sanitizer.error();
      policy.sanitize = *sanitizer;
    }
    policy.name += " + sanitize " + sanitize;
  }
  if (!guard.empty()) {
    policy.guard.reset();
    if (guard != "none") {
      const auto parsed = parse_guard(guard);
      if (!parsed) return parsed.error();
      policy.guard = *parsed;
    }
    policy.name += " + guard " + guard;
  }
  return {};
}

void add_pipeline_options(CLI::App& app, PipelineChoice& choice, const char* text_name) {
  add_query_options(app, choice.query, text_name);
  app.add_option(
      "--defence", choice.defences,
      "a defence besides the policy's, as NAME or 'NAME{option: value, ...}'; may be given again, they run in "
      "this order (casemate policies --defences lists them)");
  app.add_option("--reranker", choice.reranker,
                 "folder of a SequenceClassification model, for rerank by cross-encoder");
  add_candidate_options(app, choice.candidates);
  app.add_option("--seed", choice.query.seed, "of whatever a defence draws")->capture_default_str();
  add_language_model_options(app, choice.model);
  app.add_flag("--explain", choice.explain, "what each stage saw and decided, and the ranking without defences");
}

void add_generation_options(CLI::App& app, GenerationOptions& options) {
  app.add_option("--aggregate", options.aggregation,
                 "ask each group of passages by itself and join the answers by voting (multiple choice), keyword or "
                 "decoding; default: as the policy says");
  app.add_option("--group-size", options.group_size, "passages a group; 0: as the policy says")
      ->check(CLI::Range(0, 1000));
  app.add_flag("--long", options.long_text, "the answer is sentences, not a few words (with --aggregate)");
  app.add_flag("--certify", options.certify,
               "also say how many malicious passages cannot change the answer, with a certificate that casemate verify "
               "checks (with --aggregate)");
  options.planted.planted = 0;
  app.add_option("--planted", options.planted.planted,
                 "with --certify and ragpart: also claim what so many passages planted in the corpus could change; 0: "
                 "the certificate is about the passages given")
      ->check(CLI::Range(0, 1000));
  app.add_option("--poisoned-fragments", options.planted.poisoned_fragments,
                 "of each planted passage, how many of its fragments have arbitrary content")
      ->check(CLI::Range(0, 20))
      ->capture_default_str();
  app.add_option("--max-similarity", options.planted.s_max,
                 "of each planted passage, how similar to the question its other fragments can be at most")
      ->check(CLI::Range(-1.0, 1.0))
      ->capture_default_str();
  app.add_option("--sanitize", options.sanitize,
                 "what the model reads instead of passages, as NAME or 'NAME{option: value, ...}' (casemate policies "
                 "--sanitizers lists them); none: the passages; default: as the policy says");
  app.add_option("--guard", options.guard,
                 "watch the answer for passages and canaries: stop, redact or facts, as NAME or 'NAME{max_run_words: "
                 "8}'; none; default: as the policy says")
      ->expected(0, 1)
      ->default_str("stop");
  app.add_option("--keyword-model", options.keyword_model,
                 "small language model that finds a sanitizer's keywords; default: smollm2-135m-instruct-q4_1 where it "
                 "is installed, else the answering model");
  app.add_option(
      "--sign-with", options.key,
      "secret key for certificates (casemate seal --new-key makes one); default: a new one that is not kept");
  app.add_option("--passage-states", options.states_folder,
                 "folder that keeps what the model read of each passage, so that later questions go faster; it holds "
                 "what the passages say in another form, and some 12 KB a token");
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
  if (answers && out.policy.sanitize) {
    auto backbone = load_keyword_model(context, choice.generation.keyword_model);
    if (!backbone) return backbone.error();
    out.backbone = *std::move(backbone);
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
  if (!choice.generation.key.empty()) {
    auto key = SigningKey::load(choice.generation.key);
    if (!key) return key.error();
    out.key = std::make_unique<SigningKey>(*key);
  }
  if (!choice.generation.states_folder.empty()) {
    auto states = PassageStates::create({.folder = choice.generation.states_folder});
    if (!states) return states.error();
    out.states = *std::move(states);
  }
  parts.states = out.states.get();
  parts.key = out.key.get();
  parts.backbone = out.backbone.get();
  auto pipeline = Pipeline::create(parts, out.policy);
  if (!pipeline) return pipeline.error();
  out.pipeline = *std::move(pipeline);
  return out;
}

}  // namespace casemate::cli
