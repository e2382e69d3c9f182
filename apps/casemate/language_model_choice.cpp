#include "language_model_choice.h"

#include "casemate/llm/llama_model.h"
#include "casemate/llm/remote_llm.h"
#include "environment.h"

namespace casemate::cli {

void add_language_model_options(CLI::App& app, LanguageModelChoice& choice) {
  app.add_option("--model", choice.model,
                 std::string("language model: a name (casemate models list) or a .gguf file (default ") +
                     kDefaultLanguageModel + ")");
  app.add_option("--model-url", choice.url,
                 "address of an OpenAI-compatible server, such as http://127.0.0.1:8000/v1; passages are sent there");
  app.add_option("--model-key-variable", choice.key_variable,
                 "environment variable with that server's key (OPENAI_API_KEY, say); no key is sent otherwise");
  app.add_option("--model-ca-file", choice.ca_file,
                 "certificates (PEM) to trust for that server; default: the system's");
  app.add_option("--context", choice.context_tokens, "tokens of prompt and answer together")
      ->check(CLI::Range(256, 1 << 20))
      ->capture_default_str();
  app.add_option("--adapter", choice.adapter, "LoRA adapter (GGUF) over a --model of this process");
  app.add_option("--adapter-scale", choice.adapter_scale, "how much of it is added; 0: nothing")
      ->check(CLI::Range(-10.0, 10.0))
      ->capture_default_str();
}

namespace {

Result<std::unique_ptr<LanguageModel>> remote_model(const LanguageModelChoice& choice) {
  if (choice.model.empty())
    return Error{ErrorCode::kInvalidOption, "--model-url needs --model, the server's name for the model"};
  RemoteLlmOptions options;
  options.base_url = choice.url;
  options.model = choice.model;
  if (!choice.key_variable.empty()) {
    options.api_key = environment_variable(choice.key_variable.c_str());
    if (options.api_key.empty())
      return Error{ErrorCode::kInvalidOption, "the variable " + choice.key_variable + " holds no key"};
  }
  options.ca_file = choice.ca_file;
  options.context_tokens = static_cast<std::size_t>(choice.context_tokens);
  return create_remote_llm(options);
}

}  // namespace

Result<std::unique_ptr<LanguageModel>> load_keyword_model(Context& context, const std::string& name) {
  const auto path = context.model_path(name.empty() ? "smollm2-135m-instruct-q4_1" : name);
  if (!path && name.empty()) return std::unique_ptr<LanguageModel>();
  if (!path) return path.error();
  LlamaOptions options;
  options.threads = context.threads;
  options.hash_file = false;
  return load_llama_model(*path, options);
}

Result<std::unique_ptr<LanguageModel>> load_language_model(Context& context, const LanguageModelChoice& choice) {
  if (!choice.url.empty()) {
    if (!choice.adapter.empty())
      return Error{ErrorCode::kInvalidOption, "--adapter needs a model of this process; --model-url names another one"};
    return remote_model(choice);
  }
  const auto path = context.model_path(choice.model.empty() ? kDefaultLanguageModel : choice.model);
  if (!path) return path.error();
  LlamaOptions options;
  options.threads = context.threads;
  options.context_tokens = choice.context_tokens;
  // Certificates name the model by its hash, replays look for it, and kept states are bound to it.
  options.hash_file = true;
  options.adapter_file = choice.adapter;
  options.adapter_scale = static_cast<float>(choice.adapter_scale);
  return load_llama_model(*path, options);
}

}  // namespace casemate::cli
