#include "llm/llama_answer.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "casemate/core/untrusted_text.h"
#include "llm/gbnf.h"
#include "llm/sampling.h"
#include "llm/text_stream.h"

namespace casemate::llm {
namespace {

GeneratedPosition describe(const LlamaCore& core, std::span<const float> logits, TokenId id,
                           const GenerateOptions& options) {
  const auto entry = [&](TokenId token) {
    return TokenLogProbability{token, core.vocabulary->piece(token, true), log_probability(logits, token)};
  };
  GeneratedPosition position;
  position.chosen = entry(id);
  for (const TokenId token : likeliest(logits, static_cast<std::size_t>(options.top_log_probabilities)))
    position.alternatives.push_back(entry(token));
  return position;
}

Result<Generation> run(LlamaCore& core, AnswerCells& cells, const AnswerRequest& request, const std::stop_token& stop) {
  const GenerateOptions& options = request.options;
  Generation out;
  TextStream stream(options.stop, request.on_text);
  RandomStream random(options.seed, "llm/sampling");
  out.finish = FinishReason::kLength;
  out.prompt_tokens = request.prompt.size();
  const std::size_t room = static_cast<std::size_t>(core.context_tokens) - request.prompt.size();
  const std::size_t most = std::min(static_cast<std::size_t>(options.max_new_tokens), room);
  while (true) {
    const auto logits = cells.logits();
    if (!logits) return logits.error();
    const std::span<const float> allowed = request.grammar.apply(*logits);
    const TokenId id = choose(allowed, options, random);
    if (id < 0) return Error{ErrorCode::kModel, "no token is possible (not a number, or a grammar that ends nowhere)"};
    if (core.vocabulary->is_end(id)) {
      out.finish = FinishReason::kEnd;
      break;
    }
    request.grammar.accept(id);
    if (options.top_log_probabilities > 0) out.positions.push_back(describe(core, allowed, id, options));
    out.ids.push_back(id);
    bool last = out.ids.size() >= most;
    if (!stream.push(core.vocabulary->piece(id, false))) {
      out.finish = stream.met_stop_string() ? FinishReason::kStopString : FinishReason::kEnd;
      last = true;
    }
    if (last && !request.watched) break;
    if (auto status = cells.read(id, stop); !status) return status.error();
    if (last) break;
  }
  stream.finish();
  out.generated_tokens = out.ids.size();
  out.text = UntrustedText(stream.text());
  return out;
}

}  // namespace

Result<LlamaGrammar> LlamaGrammar::create(const LlamaCore& core, const std::string& text) {
  LlamaGrammar grammar;
  if (text.empty()) return grammar;
  const LogScope log(core.options.log);
  const llama_vocab* vocabulary = llama_model_get_vocab(core.model.get());
  const IsToken is_token = [vocabulary](std::string_view name) {
    llama_token tokens[2];
    return llama_tokenize(vocabulary, name.data(), static_cast<std::int32_t>(name.size()), tokens, 2, false, true) == 1;
  };
  if (Status good = check_gbnf(text, is_token); !good) return good.error().in("grammar is not valid GBNF");
  std::string reason;
  try {
    grammar.sampler_.reset(llama_sampler_init_grammar(vocabulary, text.c_str(), "root"));
    reason = log.last_error();
  } catch (const std::exception& failure) {
    reason = failure.what();
  }
  if (grammar.sampler_ == nullptr)
    return Error{ErrorCode::kInvalidOption, "grammar is refused by llama.cpp: " + UntrustedText(reason).for_log(200)};
  return grammar;
}

std::span<const float> LlamaGrammar::apply(std::span<const float> logits) {
  if (sampler_ == nullptr) return logits;
  masked_.assign(logits.begin(), logits.end());
  candidates_.clear();
  for (std::size_t i = 0; i < logits.size(); ++i) candidates_.push_back({static_cast<llama_token>(i), logits[i], 0.0F});
  llama_token_data_array array{candidates_.data(), candidates_.size(), -1, false};
  llama_sampler_apply(sampler_.get(), &array);
  for (std::size_t i = 0; i < array.size; ++i)
    masked_[static_cast<std::size_t>(array.data[i].id)] = array.data[i].logit;
  return masked_;
}

void LlamaGrammar::accept(TokenId id) {
  if (sampler_ != nullptr) llama_sampler_accept(sampler_.get(), id);
}

AnswerCells::~AnswerCells() {
  if (!has_moved_) {
    const std::lock_guard turn(core_.turns);
    core_.main->truncate(0, prompt_.size());
    return;
  }
  core_.turns.rest(this);
  {
    const std::lock_guard turn(core_.turns);
    core_.streams->release(place_);
  }
  core_.places.give(std::this_thread::get_id());
}

Result<std::span<const float>> AnswerCells::logits() const {
  if (has_moved_) return std::span<const float>(logits_);
  return core_.main->last_logits();
}

Status AnswerCells::read(TokenId token, const std::stop_token& stop) {
  const bool alone = !core_.main_turns.is_wanted() && !core_.turns.has_walkers();
  if (!has_moved_ && !watched_ && !alone) {
    if (!core_.turns.lock_unless(stop)) return stopped();
    const std::lock_guard turn(core_.turns, std::adopt_lock);
    move_if_there_is_room();
  }
  Status status = has_moved_ ? read_in_company(token, stop) : read_in_main(token, stop);
  if (status) ++cells_;
  return status;
}

Status AnswerCells::read_in_main(TokenId token, const std::stop_token& stop) {
  if (!core_.turns.lock_unless(stop)) return stopped();
  const std::lock_guard turn(core_.turns, std::adopt_lock);
  const Row row{token, static_cast<std::int32_t>(cells_), 0, true};
  const std::span one(&row, 1);
  if (auto status = watched_ ? core_.tap.decode(*core_.main, one, stop) : core_.main->decode(one, stop); !status)
    return status;
  core_.count(1, 0);
  return {};
}

Status AnswerCells::read_in_company(TokenId token, const std::stop_token& stop) {
  LlamaStep step;
  step.owner = this;
  step.stop = stop;
  step.rows.push_back({&place_, token, cells_, &logits_});
  core_.turns.step(
      step, [core = &core_](std::span<LlamaStep* const> steps) { core->count(core->streams->compute(steps), 0); });
  return step.status;
}

/// With a turn held.
void AnswerCells::move_if_there_is_room() {
  LlamaStreams& streams = *core_.streams;
  const PlaceLimits most = {static_cast<std::size_t>(core_.options.max_sequences), streams.max_cells()};
  if (!core_.places.take_at_once(1, streams.stream_length(cells_), most)) return;
  const auto moved = [&]() -> Status {
    const auto bytes = core_.main->save(0);
    if (!bytes) return bytes.error();
    if (auto room = streams.reserve(1, cells_); !room) return room;
    streams.take(place_);
    if (auto loaded = streams.session().load(place_.stream, *bytes); !loaded) {
      streams.release(place_);
      return loaded;
    }
    place_.cells = cells_;
    return {};
  }();
  if (!moved) {  // it stays where it is, which is slower and nothing worse
    core_.places.give(std::this_thread::get_id());
    return;
  }
  has_moved_ = true;
  core_.main->truncate(0, prompt_.size());
  whole_.unlock();
}

Result<Generation> answer_prompt(LlamaCore& core, std::unique_lock<LlamaTurns>& whole, const AnswerRequest& request,
                                 const std::stop_token& stop) {
  AnswerCells cells(core, whole, request.prompt, request.watched);
  try {
    auto generation = run(core, cells, request, stop);
    if (!generation) return core.in_model(generation.error());
    return generation;
  } catch (const std::exception& failure) {
    return core.in_model({ErrorCode::kModel, std::string("generation failed: ") + failure.what()});
  }
}

}  // namespace casemate::llm
