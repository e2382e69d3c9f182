#include "casemate/llm/remembering_model.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>

#include "casemate/core/elapsed.h"
#include "casemate/core/fifo_cache.h"
#include "casemate/core/key_turns.h"
#include "casemate/llm/generate_each.h"
#include "casemate/llm/prompt_digest.h"
#include "llm/text_stream.h"

namespace casemate {
namespace {

struct Remembered {
  Generation generation;
  std::vector<std::string> pieces;  ///< as `on_text` saw them
  bool stopped = false;             ///< by `on_text`, after the last piece
  double seconds = 0;
};

/// Of all that decides a greedy text.
Digest key_of(const Prompt& prompt, const GenerateOptions& options) {
  FieldHasher fields;
  fields.add(prompt_digest(prompt)).add(std::int64_t{options.max_new_tokens});
  fields.add(std::int64_t{options.top_log_probabilities}).add(options.grammar);
  for (const std::string& stop : options.stop) fields.add(stop);
  return fields.finish();
}

/// As a reader of the generation would have seen them; in one where the model does not tell its tokens.
std::vector<std::string> pieces_of(const LanguageModel& model, const Generation& made, const GenerateOptions& options) {
  std::vector<std::string> out;
  const OnText keep = [&](std::string_view piece) {
    out.emplace_back(piece);
    return true;
  };
  llm::TextStream stream(options.stop, keep);
  for (const TokenId id : made.ids) {
    const auto bytes = model.detokenize(std::span(&id, 1));
    if (!bytes || !stream.push(*bytes)) break;
  }
  stream.finish();
  if (stream.text() != made.text.bytes()) out = {made.text.bytes()};
  return out;
}

}  // namespace

struct RememberingModel::Memory {
  explicit Memory(std::size_t most) : texts(most) {}
  FifoCache<Digest, Remembered> texts;
  KeyTurns<Digest> turns;
  std::atomic<double> saved{0};
};

RememberingModel::RememberingModel(LanguageModel& model, std::size_t most)
    : model_(model), memory_(std::make_unique<Memory>(most)) {}
RememberingModel::~RememberingModel() = default;

double RememberingModel::saved_seconds() const { return memory_->saved; }

Status RememberingModel::prepare(std::span<const Prompt> prompts, const GenerateOptions& options,
                                 std::stop_token stop) {
  if (options.temperature != 0 || !options.grammar.empty() || options.top_log_probabilities != 0)
    return Error{ErrorCode::kInvalidArgument, "texts are prepared greedily, without grammar or probabilities"};
  std::vector<Prompt> fresh;
  for (const Prompt& prompt : prompts) {
    if (!memory_->texts.find(key_of(prompt, options))) fresh.push_back(prompt);
  }
  GenerateEachOptions together;
  together.max_new_tokens = options.max_new_tokens;
  together.stop = options.stop;
  const auto begin = std::chrono::steady_clock::now();
  auto made = generate_each(model_, fresh, together, std::move(stop));
  if (!made) return made.error();
  const double seconds = seconds_since(begin) / static_cast<double>(std::max<std::size_t>(fresh.size(), 1));
  for (std::size_t i = 0; i < fresh.size(); ++i) {
    Remembered text;
    text.pieces = pieces_of(model_, (*made)[i], options);
    text.generation = std::move((*made)[i]);
    text.seconds = seconds;
    memory_->texts.keep(key_of(fresh[i], options), std::move(text));
  }
  return {};
}

Result<Generation> RememberingModel::generate(const Prompt& prompt, const GenerateOptions& options,
                                              std::stop_token stop, const OnText& on_text) {
  if (options.temperature != 0 || stop.stop_requested()) return model_.generate(prompt, options, stop, on_text);
  const Digest key = key_of(prompt, options);
  const auto turn = memory_->turns.take(key);
  std::size_t shown = 0;
  bool enough = false;
  if (const auto known = memory_->texts.find(key)) {
    while (on_text && !enough && shown < known->pieces.size()) enough = !on_text(known->pieces[shown++]);
    // The same end as the first time, by the reader or by the model.
    if ((shown == known->pieces.size() || !on_text) && enough == known->stopped) {
      memory_->saved += known->seconds;
      return known->generation;
    }
  }
  // What was shown is not shown again.
  Remembered made;
  const OnText watch = [&](std::string_view piece) {
    made.pieces.emplace_back(piece);
    const bool again = made.pieces.size() <= shown;
    made.stopped = again ? enough && made.pieces.size() == shown : on_text && !on_text(piece);
    return !made.stopped;
  };
  const auto begin = std::chrono::steady_clock::now();
  auto generated = model_.generate(prompt, options, stop, watch);
  if (!generated) return generated;
  made.seconds = seconds_since(begin);
  made.generation = *generated;
  memory_->texts.keep(key, std::move(made));
  return generated;
}

Result<Tokens> RememberingModel::tokenize(std::string_view text, SpecialTokens mode) const {
  return model_.tokenize(text, mode);
}

Result<PromptTokens> RememberingModel::tokenize_prompt(const Prompt& prompt) const {
  return model_.tokenize_prompt(prompt);
}

Result<std::string> RememberingModel::detokenize(std::span<const TokenId> ids) const { return model_.detokenize(ids); }

Result<Generation> RememberingModel::generate_tokens(std::span<const TokenId> prompt, const GenerateOptions& options,
                                                     std::stop_token stop, const OnText& on_text) {
  return model_.generate_tokens(prompt, options, std::move(stop), on_text);
}

Result<std::vector<float>> RememberingModel::next_token_log_probabilities(std::span<const TokenId> prompt,
                                                                          std::stop_token stop) {
  return model_.next_token_log_probabilities(prompt, std::move(stop));
}

Result<ContinuationScore> RememberingModel::score_continuation(std::span<const TokenId> prompt,
                                                               std::span<const TokenId> continuation,
                                                               std::stop_token stop) {
  return model_.score_continuation(prompt, continuation, std::move(stop));
}

Status RememberingModel::attention(std::span<const TokenId> tokens, const AttentionVisitor& visitor,
                                   std::stop_token stop) {
  return model_.attention(tokens, visitor, std::move(stop));
}

Result<Generation> RememberingModel::generate_with_attention(std::span<const TokenId> prompt,
                                                             const GenerateOptions& options,
                                                             const AttentionVisitor& visitor, std::stop_token stop) {
  return model_.generate_with_attention(prompt, options, visitor, std::move(stop));
}

Result<std::unique_ptr<LlmBatch>> RememberingModel::start_batch(std::span<const TokenId> prefix,
                                                                std::span<const BatchSequence> sequences,
                                                                std::stop_token stop) {
  return model_.start_batch(prefix, sequences, std::move(stop));
}

}  // namespace casemate
