#include "language_model_choice.h"

#include "casemate/llm/llama_model.h"
#include "environment.h"

namespace casemate::cli {

void add_language_model_options(CLI::App& app, LanguageModelChoice& choice) {
  app.add_option("--model", choice.model,
                 std::string("language model: a name (casemate models list) or a .gguf file (default ") +
                     kDefaultLanguageModel + ")");
  app.add_option("--context", choice.context_tokens, "tokens of prompt and answer together")
      ->check(CLI::Range(256, 1 << 20))
      ->capture_default_str();
}

Result<std::unique_ptr<LanguageModel>> load_language_model(Context& context, const LanguageModelChoice& choice) {
  const auto path = context.model_path(choice.model.empty() ? kDefaultLanguageModel : choice.model);
  if (!path) return path.error();
  LlamaOptions options;
  options.threads = context.threads;
  options.context_tokens = choice.context_tokens;
  options.hash_file = false;  // nothing here is certified by it
  return load_llama_model(*path, options);
}

}  // namespace casemate::cli
