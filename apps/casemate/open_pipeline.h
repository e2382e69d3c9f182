// apps/casemate/open_pipeline.h
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "casemate/core/signing.h"
#include "casemate/defend/passage_cache.h"
#include "casemate/encoder/heads.h"
#include "casemate/generate/passage_states.h"
#include "casemate/pipeline/pipeline.h"
#include "language_model_choice.h"
#include "query_options.h"

namespace casemate::cli {

/// How ask makes its answer, beside what the policy says.
struct GenerationOptions {
  std::string aggregation;  ///< empty: as the policy says
  int group_size = 0;       ///< 0: as the policy says
  bool long_text = false;
  bool certify = false;
  PlantedPassages planted{0, 1, 0.5, 1e-5};  ///< planted 0: nothing is asked about the corpus
  std::string key;                           ///< file of a secret key that signs certificates
  std::string states_folder;                 ///< where states of passages are kept between runs; empty: nowhere
  std::string sanitize;                      ///< a sanitizer in place of the policy's; "none": none
  std::string guard;                         ///< a guard in place of the policy's; "none": none
  std::string keyword_model;                 ///< of a sanitizer; empty: the small model where it is installed
};

/// How dense retrieval finds passages, beside what the policy says.
struct CandidateChoice {
  std::string method;             ///< empty: as the policy says
  std::uint64_t exact_below = 0;  ///< of CandidateOptions; 0: as the policy says
  /// Shared by all policies that this choice is made for.
  std::shared_ptr<CandidateShelf> shelf = std::make_shared<CandidateShelf>();
};

/// What search and ask can be told.
struct PipelineChoice {
  QueryChoice query;
  std::vector<std::string> defences;  ///< after the policy's own, in order
  std::string reranker;               ///< folder of a cross-encoder
  LanguageModelChoice model;
  bool explain = false;
  GenerationOptions generation;
  CandidateChoice candidates;
};

/// A pipeline with all that it works with, in an order that takes it down safely.
struct OpenPipeline {
  Policy policy;
  QueryOptions options;
  std::unique_ptr<Store> store;
  std::unique_ptr<Encoder> encoder;
  std::unique_ptr<LanguageModel> model;
  std::unique_ptr<LanguageModel> backbone;
  std::unique_ptr<Reranker> reranker;
  std::unique_ptr<PassageCache> cache;
  std::unique_ptr<PassageStates> states;
  std::unique_ptr<SigningKey> key;
  std::unique_ptr<Pipeline> pipeline;
};

void add_pipeline_options(CLI::App& app, PipelineChoice& choice, const char* text_name);
/// Sanitizer and guard in place of the policy's, where they are named ("none": none). Error: what parsing them says.
[[nodiscard]] Status choose_protection(const std::string& sanitize, const std::string& guard, Policy& policy);
void add_candidate_options(CLI::App& app, CandidateChoice& choice);
/// Candidates in place of the policy's, also in its name. Error: InvalidOption.
[[nodiscard]] Status choose_candidates(const CandidateChoice& choice, Policy& policy);
void add_generation_options(CLI::App& app, GenerationOptions& options);

/// Opens store and models and builds the pipeline. A language model is loaded only where `answers` or a defence needs
/// it.
[[nodiscard]] Result<OpenPipeline> open_pipeline(Context& context, const PipelineChoice& choice, bool answers);

/// For people: a table of all passages that any stage touched, then each stage with its choices and verdicts.
void print_explanation(std::span<const Hit> hits, const Evidence& evidence);

}  // namespace casemate::cli
