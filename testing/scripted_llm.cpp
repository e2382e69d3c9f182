#include "testing/scripted_llm.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "casemate/core/hash.h"
#include "llm/sampling.h"
#include "llm/sequence_state.h"
#include "llm/text_stream.h"

namespace casemate::testing {
namespace {

constexpr std::size_t kBytes = 256;

/// The literals of root ::= "a" | "b".
Result<std::vector<std::string>> literals(const std::string& grammar) {
  std::vector<std::string> out;
  const std::size_t definition = grammar.find("root ::=");
  std::size_t at = definition;
  while (at != std::string::npos && (at = grammar.find('"', at)) != std::string::npos) {
    const std::size_t end = grammar.find('"', at + 1);
    if (end == std::string::npos) break;
    out.push_back(grammar.substr(at + 1, end - at - 1));
    at = end + 1;
  }
  if (definition == std::string::npos || out.empty() || at != std::string::npos) {
    return Error{ErrorCode::kInvalidOption, "grammar: the scripted model knows lists of literals only"};
  }
  return out;
}

/// Forbids tokens after which `so_far` is the start of no literal.
void apply_literals(std::vector<float>& values, const std::vector<std::string>& allowed, const std::string& so_far,
                    const std::vector<std::string>& pieces) {
  for (std::size_t id = 0; id < values.size(); ++id) {
    const bool end = static_cast<TokenId>(id) == ScriptedLlm::kEnd;
    const std::string next = end ? so_far : so_far + pieces[id];
    const bool special = static_cast<TokenId>(id) < ScriptedLlm::kFirstWord;
    const bool fits = std::any_of(allowed.begin(), allowed.end(), [&](const std::string& a) {
      return end ? a == next : !special && a.starts_with(next);
    });
    if (!fits) values[id] = -INFINITY;
  }
}

}  // namespace

Result<std::unique_ptr<ScriptedLlm>> ScriptedLlm::create(ScriptedLlmOptions options) {
  if (!(options.confidence > 0 && options.confidence < 1)) {
    return Error{ErrorCode::kInvalidOption,
                 "confidence is " + std::to_string(options.confidence) + "; it must be between 0 and 1"};
  }
  if (std::any_of(options.vocabulary.begin(), options.vocabulary.end(), [](const auto& t) { return t.empty(); })) {
    return Error{ErrorCode::kInvalidOption, "vocabulary holds an empty text"};
  }
  return std::unique_ptr<ScriptedLlm>(new ScriptedLlm(std::move(options)));
}

ScriptedLlm::ScriptedLlm(ScriptedLlmOptions options) : options_(std::move(options)) {
  pieces_ = {"<end>", "<turn>", "<unknown>"};
  pieces_.insert(pieces_.end(), options_.vocabulary.begin(), options_.vocabulary.end());
  if (options_.byte_fallback) {
    for (std::size_t byte = 0; byte < kBytes; ++byte) pieces_.emplace_back(1, static_cast<char>(byte));
  }
  info_.name = options_.name;
  info_.backend = "scripted";
  info_.context_tokens = options_.context_tokens;
  info_.vocabulary_size = pieces_.size();
  info_.layers = options_.layers;
  info_.has_chat_template = true;
  info_.file_hash = to_hex(blake2b("scripted|" + options_.name));
  capabilities_ = {
      Feature::kTokens,           Feature::kGrammar,   Feature::kFullLogProbabilities, Feature::kTopLogProbabilities,
      Feature::kContinuationLoss, Feature::kAttention, Feature::kSharedPrefix,         Feature::kSequenceState};
  if (!options_.features.empty()) {
    capabilities_ = {};
    for (const Feature feature : options_.features) capabilities_.add(feature);
  }
}

Status ScriptedLlm::allow(Feature feature) const { return require(*this, {feature}, "this call"); }

Result<Tokens> ScriptedLlm::tokenize(std::string_view text, SpecialTokens mode) const {
  if (auto status = allow(Feature::kTokens); !status) return status.error();
  Tokens out;
  const TokenId first = mode == SpecialTokens::kHuggingFace ? 0 : kFirstWord;
  const std::size_t words = static_cast<std::size_t>(kFirstWord) + options_.vocabulary.size();
  for (std::size_t at = 0; at < text.size();) {
    TokenId best = kUnknown;
    std::size_t length = 1;
    if (options_.byte_fallback) best = static_cast<TokenId>(words + static_cast<unsigned char>(text[at]));
    std::size_t longest = 0;
    for (auto id = static_cast<std::size_t>(first); id < words; ++id) {
      if (pieces_[id].size() > longest && text.substr(at).starts_with(pieces_[id])) {
        best = static_cast<TokenId>(id);
        longest = length = pieces_[id].size();
      }
    }
    out.ids.push_back(best);
    out.spans.push_back({at, at + length});
    at += length;
  }
  return out;
}

Result<PromptTokens> ScriptedLlm::tokenize_prompt(const Prompt& prompt) const {
  if (prompt.messages.empty()) return Error{ErrorCode::kInvalidArgument, "the prompt is empty"};
  PromptTokens out;
  const auto turn = [&] {
    if (!prompt.chat) return;
    out.ids.push_back(kTurn);
    out.origins.emplace_back();
  };
  for (std::size_t m = 0; m < prompt.messages.size(); ++m) {
    turn();
    for (std::size_t p = 0; p < prompt.messages[m].parts.size(); ++p) {
      auto tokens = tokenize(prompt.messages[m].parts[p].text, SpecialTokens::kAsText);
      if (!tokens) return tokens.error();
      for (std::size_t i = 0; i < tokens->ids.size(); ++i) {
        out.ids.push_back(tokens->ids[i]);
        out.origins.push_back({static_cast<int>(m), static_cast<int>(p), tokens->spans[i]});
      }
    }
  }
  turn();
  return out;
}

std::string ScriptedLlm::text_of(std::span<const TokenId> ids) const {
  std::string text;
  for (const TokenId id : ids) {
    if (!is_special(id)) text += pieces_[static_cast<std::size_t>(id)];
  }
  return text;
}

Result<std::string> ScriptedLlm::detokenize(std::span<const TokenId> ids) const {
  if (auto status = allow(Feature::kTokens); !status) return status.error();
  for (const TokenId id : ids) {
    if (id < 0 || static_cast<std::size_t>(id) >= pieces_.size()) {
      return Error{ErrorCode::kInvalidArgument, "token id " + std::to_string(id) + " is outside the vocabulary"};
    }
  }
  return text_of(ids);
}

Status ScriptedLlm::check(std::span<const TokenId> tokens) const {
  if (tokens.empty()) return Error{ErrorCode::kInvalidArgument, "the prompt has no tokens"};
  if (auto text = detokenize(tokens); !text) return text.error();
  if (tokens.size() >= options_.context_tokens) {
    return Error{ErrorCode::kLimit, "the prompt has " + std::to_string(tokens.size()) +
                                        " tokens and the context holds " + std::to_string(options_.context_tokens)};
  }
  return {};
}

std::vector<double> ScriptedLlm::scripted(std::span<const TokenId> tokens, std::string_view text) const {
  TokenId next = kEnd;
  for (const ScriptedAnswer& scripted_answer : options_.answers) {
    if (text.find(scripted_answer.when) == std::string_view::npos) continue;
    const auto answer = tokenize(scripted_answer.answer, SpecialTokens::kAsText).value().ids;
    // How much of the answer is already there: its longest beginning that ends `tokens`.
    std::size_t done = std::min(answer.size(), tokens.size());
    while (done > 0 && !std::equal(answer.begin(), answer.begin() + static_cast<std::ptrdiff_t>(done),
                                   tokens.end() - static_cast<std::ptrdiff_t>(done))) {
      --done;
    }
    if (done < answer.size()) next = answer[done];
    break;
  }
  const double rest = (1 - options_.confidence) / static_cast<double>(pieces_.size() - 1);
  std::vector<double> out(pieces_.size(), rest);
  out[static_cast<std::size_t>(next)] = options_.confidence;
  return out;
}

Result<std::vector<float>> ScriptedLlm::log_probabilities(std::span<const TokenId> tokens) const {
  const std::string text = text_of(tokens);
  const std::vector<double> weights =
      options_.distribution ? options_.distribution(tokens, text) : scripted(tokens, text);
  if (weights.size() != pieces_.size()) {
    return Error{ErrorCode::kModel, "the script gave " + std::to_string(weights.size()) + " probabilities for " +
                                        std::to_string(pieces_.size()) + " tokens"};
  }
  double total = 0;
  for (const double weight : weights) total += weight;
  if (!(total > 0) || !std::isfinite(total)) return Error{ErrorCode::kModel, "the script's probabilities have no sum"};
  std::vector<float> out(weights.size());
  std::transform(weights.begin(), weights.end(), out.begin(),
                 [&](double weight) { return static_cast<float>(std::log(weight / total)); });
  return out;
}

void ScriptedLlm::count(std::size_t decoded, std::size_t reused, std::size_t calls) {
  const std::lock_guard lock(mutex_);
  usage_.decoded_tokens += decoded;
  usage_.reused_tokens += reused;
  usage_.calls += calls;
}

void ScriptedLlm::see(std::string prompt) {
  const std::lock_guard lock(mutex_);
  prompts_.push_back(std::move(prompt));
}

LlmUsage ScriptedLlm::usage() const {
  const std::lock_guard lock(mutex_);
  return usage_;
}

std::vector<std::string> ScriptedLlm::prompts_seen() const {
  const std::lock_guard lock(mutex_);
  return prompts_;
}

Result<Generation> ScriptedLlm::generate(const Prompt& prompt, const GenerateOptions& options, std::stop_token stop,
                                         const OnText& on_text) {
  auto tokens = tokenize_prompt(prompt);
  if (!tokens) return tokens.error();
  return generate_tokens(tokens->ids, options, std::move(stop), on_text);
}

Result<Generation> ScriptedLlm::generate_tokens(std::span<const TokenId> prompt, const GenerateOptions& options,
                                                std::stop_token stop, const OnText& on_text) {
  auto made = continue_tokens(prompt, options, std::move(stop), on_text);
  if (!made) return made;
  see(text_of(prompt));
  count(prompt.size() + made->ids.size(), 0, 1);
  return made;
}

Result<Generation> ScriptedLlm::continue_tokens(std::span<const TokenId> prompt, const GenerateOptions& options,
                                                std::stop_token stop, const OnText& on_text) const {
  if (auto status = validate(options); !status) return status.error();
  if (auto status = check(prompt); !status) return status.error();
  std::vector<std::string> allowed;
  if (!options.grammar.empty()) {
    auto read = literals(options.grammar);
    if (!read) return read.error();
    allowed = std::move(*read);
  }
  Generation out;
  out.prompt_tokens = prompt.size();
  out.finish = FinishReason::kLength;
  llm::TextStream stream(options.stop, on_text);
  RandomStream random(options.seed, "llm/sampling");
  std::vector<TokenId> tokens(prompt.begin(), prompt.end());
  while (out.ids.size() < static_cast<std::size_t>(options.max_new_tokens) && tokens.size() < options_.context_tokens) {
    if (stop.stop_requested()) return Error{ErrorCode::kCancelled, "the caller asked to stop"};
    auto values = log_probabilities(tokens);
    if (!values) return values.error();
    if (!allowed.empty()) apply_literals(*values, allowed, text_of(out.ids), pieces_);
    const TokenId id = llm::choose(*values, options, random);
    if (id < 0) return Error{ErrorCode::kModel, "no token is possible"};
    if (id == kEnd) {
      out.finish = FinishReason::kEnd;
      break;
    }
    const auto entry = [&](TokenId token) {
      return TokenLogProbability{token, pieces_[static_cast<std::size_t>(token)], llm::log_probability(*values, token)};
    };
    if (options.top_log_probabilities > 0) {
      GeneratedPosition position{entry(id), {}};
      for (const TokenId other : llm::likeliest(*values, static_cast<std::size_t>(options.top_log_probabilities))) {
        position.alternatives.push_back(entry(other));
      }
      out.positions.push_back(std::move(position));
    }
    out.ids.push_back(id);
    tokens.push_back(id);
    if (!stream.push(is_special(id) ? std::string_view() : std::string_view(pieces_[static_cast<std::size_t>(id)]))) {
      out.finish = stream.met_stop_string() ? FinishReason::kStopString : FinishReason::kEnd;
      break;
    }
  }
  stream.finish();
  out.text = UntrustedText(stream.text());
  out.generated_tokens = out.ids.size();
  return out;
}

Result<std::vector<float>> ScriptedLlm::next_token_log_probabilities(std::span<const TokenId> prompt, std::stop_token) {
  if (auto status = allow(Feature::kFullLogProbabilities); !status) return status.error();
  if (auto status = check(prompt); !status) return status.error();
  count(prompt.size(), 0, 1);
  return log_probabilities(prompt);
}

Result<ContinuationScore> ScriptedLlm::score_continuation(std::span<const TokenId> prompt,
                                                          std::span<const TokenId> continuation, std::stop_token) {
  if (auto status = allow(Feature::kContinuationLoss); !status) return status.error();
  if (auto status = check(prompt); !status) return status.error();
  if (auto status = check(continuation); !status) return status.error();
  count(prompt.size() + continuation.size() - 1, 0, 1);
  ContinuationScore score;
  std::vector<TokenId> tokens(prompt.begin(), prompt.end());
  for (const TokenId id : continuation) {
    auto values = log_probabilities(tokens);
    if (!values) return values.error();
    score.log_probabilities.push_back(static_cast<double>((*values)[static_cast<std::size_t>(id)]));
    score.loss -= score.log_probabilities.back() / static_cast<double>(continuation.size());
    tokens.push_back(id);
  }
  return score;
}

Status ScriptedLlm::attention(std::span<const TokenId> tokens, const AttentionVisitor& visitor, std::stop_token) {
  if (auto status = allow(Feature::kAttention); !status) return status;
  if (auto status = check(tokens); !status) return status;
  count(tokens.size(), 0, 1);
  const std::size_t n = tokens.size();
  std::vector<float> weights;
  for (std::size_t layer = 0; layer < options_.layers; ++layer) {
    weights.assign(n * n, 0.0F);
    for (std::size_t row = 0; row < n; ++row) {
      std::vector<double> values(row + 1, 1.0);
      double total = 0;
      for (std::size_t column = 0; column <= row; ++column) {
        if (options_.attention_weight) values[column] = options_.attention_weight(layer, row, column);
        total += values[column];
      }
      for (std::size_t column = 0; column <= row; ++column) {
        weights[row * n + column] = static_cast<float>(values[column] / total);
      }
    }
    if (auto status = visitor({layer, 0, n, n, weights}); !status) return status;
  }
  return {};
}

class ScriptedBatch final : public LlmBatch {
 public:
  explicit ScriptedBatch(ScriptedLlm& model) : model_(model) {}

  Status start(std::span<const TokenId> prefix, std::span<const BatchSequence> sequences) {
    bool prefix_used = false;
    for (const BatchSequence& sequence : sequences) {
      std::vector<TokenId> tokens(prefix.begin(), prefix.end());
      if (sequence.state != nullptr) {
        auto state = llm::unpack_state(*sequence.state, key());
        if (!state) return state.error();
        if (state->tokens.size() < prefix.size() || !std::equal(prefix.begin(), prefix.end(), state->tokens.begin())) {
          return Error{ErrorCode::kMismatch, "a sequence state does not begin with the batch's prefix"};
        }
        tokens = std::move(state->tokens);
      } else if (sequence.alone) {
        tokens.clear();
      } else {
        prefix_used = true;
      }
      count(sequence.suffix.size(), tokens.size());
      tokens.insert(tokens.end(), sequence.suffix.begin(), sequence.suffix.end());
      if (auto status = model_.check(tokens); !status) return status;
      model_.see(model_.text_of(tokens));
      tokens_.push_back(std::move(tokens));
      went_back_.push_back(false);
    }
    if (prefix_used) count(prefix.size(), 0);
    return {};
  }
  std::size_t size() const noexcept override { return tokens_.size(); }
  std::span<const TokenId> tokens(std::size_t sequence) const override {
    return sequence < tokens_.size() ? std::span<const TokenId>(tokens_[sequence]) : std::span<const TokenId>();
  }
  LlmUsage usage() const noexcept override { return usage_; }
  Result<std::vector<float>> log_probabilities(std::size_t sequence) const override {
    if (sequence >= tokens_.size()) return no_sequence();
    if (went_back_[sequence]) return nothing_predicted();
    return model_.log_probabilities(tokens_[sequence]);
  }
  Status append(std::span<const BatchAppend> appends, std::stop_token stop) override {
    if (stop.stop_requested()) return Error{ErrorCode::kCancelled, "the caller asked to stop"};
    std::set<std::size_t> seen;
    for (const BatchAppend& append : appends) {
      if (append.sequence >= tokens_.size() || !seen.insert(append.sequence).second) return no_sequence();
      if (auto status = model_.check(append.tokens); !status) return status;
      if (tokens_[append.sequence].size() + append.tokens.size() > model_.options_.context_tokens) {
        return Error{ErrorCode::kLimit, "a sequence would outgrow the context"};
      }
    }
    for (const BatchAppend& append : appends) {
      auto& tokens = tokens_[append.sequence];
      tokens.insert(tokens.end(), append.tokens.begin(), append.tokens.end());
      went_back_[append.sequence] = false;
      count(append.tokens.size(), 0);
    }
    return {};
  }
  Status rewind(std::size_t sequence, std::size_t tokens) override {
    if (sequence >= tokens_.size()) return no_sequence();
    if (tokens == 0 || tokens > tokens_[sequence].size())
      return Error{ErrorCode::kInvalidArgument, "cannot go back to token " + std::to_string(tokens)};
    tokens_[sequence].resize(tokens);
    went_back_[sequence] = true;
    return {};
  }
  Result<std::vector<Generation>> generate_greedy(int max_new_tokens, std::span<const std::string> stop_strings,
                                                  std::stop_token stop) override {
    GenerateOptions options;
    options.max_new_tokens = max_new_tokens;
    options.stop.assign(stop_strings.begin(), stop_strings.end());
    if (std::find(went_back_.begin(), went_back_.end(), true) != went_back_.end()) return nothing_predicted();
    std::vector<Generation> out;
    for (std::vector<TokenId>& tokens : tokens_) {
      auto generation = model_.continue_tokens(tokens, options, stop, {});
      if (!generation) return generation.error();
      tokens.insert(tokens.end(), generation->ids.begin(), generation->ids.end());
      count(generation->ids.size(), 0);
      out.push_back(std::move(*generation));
    }
    return out;
  }
  Result<SequenceState> save_state(std::size_t sequence) const override {
    if (auto status = model_.allow(Feature::kSequenceState); !status) return status.error();
    if (sequence >= tokens_.size()) return no_sequence();
    return llm::pack_state(tokens_[sequence], "", key());
  }

 private:
  static Error no_sequence() {
    return {ErrorCode::kInvalidArgument, "there is no such sequence, or it is named twice"};
  }
  static Error nothing_predicted() {
    return {ErrorCode::kInvalidArgument, "a sequence went back; append to it before asking what comes next"};
  }
  Digest key() const { return blake2b(model_.info().file_hash); }
  void count(std::size_t decoded, std::size_t reused) {
    usage_.decoded_tokens += decoded;
    usage_.reused_tokens += reused;
    model_.count(decoded, reused, 0);
  }
  ScriptedLlm& model_;
  std::vector<std::vector<TokenId>> tokens_;
  std::vector<bool> went_back_;
  LlmUsage usage_;
};

Result<std::unique_ptr<LlmBatch>> ScriptedLlm::start_batch(std::span<const TokenId> prefix,
                                                           std::span<const BatchSequence> sequences, std::stop_token) {
  if (auto status = allow(Feature::kSharedPrefix); !status) return status.error();
  if (sequences.empty()) return Error{ErrorCode::kInvalidArgument, "a batch needs at least one sequence"};
  auto batch = std::make_unique<ScriptedBatch>(*this);
  if (auto status = batch->start(prefix, sequences); !status) return status.error();
  count(0, 0, 1);
  return std::unique_ptr<LlmBatch>(std::move(batch));
}

}  // namespace casemate::testing
