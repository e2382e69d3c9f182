#include <algorithm>
#include <map>

#include "casemate/core/utf8.h"
#include "casemate/generate/question.h"
#include "casemate/generate/vanilla.h"
#include "pipeline/generation_evidence.h"
#include "pipeline/pipeline_state.h"

namespace casemate {
namespace {

constexpr std::string_view kNothingLeft = "I don't know: nothing that may be shown answers this question.";

using OnAnswer = std::function<void(const UntrustedText&)>;

std::vector<ContextPassage> context_of(std::span<const Hit> hits) {
  std::vector<ContextPassage> out;
  out.reserve(hits.size());
  for (const Hit& hit : hits) out.push_back({hit.title, hit.text});
  return out;
}

SanitizedContext as_they_are(std::span<const ContextPassage> passages) {
  SanitizedContext out;
  for (std::size_t i = 0; i < passages.size(); ++i) out.passages.push_back({passages[i].title, passages[i].text, i});
  return out;
}

/// Sends an answer on as far as the guard lets it, and keeps what was sent.
class Sender {
 public:
  Sender(OutputGuard* guard, bool streams, const OnAnswer& on_text)
      : guard_(guard), streams_(streams), on_text_(on_text) {}

  bool push(std::string_view piece) {
    if (guard_ == nullptr) return send(std::string(piece), false);
    GuardedText step = guard_->push(piece);
    return send(std::move(step.text), step.ended);
  }
  void finish() {
    if (guard_ == nullptr || ended_) return;
    GuardedText step = guard_->finish();
    send(std::move(step.text), step.ended);
  }
  [[nodiscard]] bool ended() const noexcept { return ended_; }
  [[nodiscard]] const std::string& text() const noexcept { return text_; }
  /// Where nothing was sent as it came.
  void send_all() const {
    if (!streams_ && on_text_ && !text_.empty()) on_text_(UntrustedText(text_));
  }

 private:
  bool send(std::string text, bool ended) {
    text_ += text;
    if (streams_ && on_text_ && !text.empty()) on_text_(UntrustedText(std::move(text)));
    ended_ = ended_ || ended;
    return !ended_;
  }

  OutputGuard* guard_;
  bool streams_;
  const OnAnswer& on_text_;
  std::string text_;
  bool ended_ = false;
};

/// What the generator made of a sanitised context.
struct Made {
  std::string finish;
  std::size_t prompt_tokens = 0;
  std::size_t generated_tokens = 0;
  std::size_t passages_used = 0;
  std::vector<std::size_t> cited;  ///< numbers of the sanitised passages
  std::vector<NeutralisedString> neutralised;
  std::vector<std::string> notes;
};

Result<Made> make_answer(LanguageModel& model, const SanitizedContext& context, const UntrustedText& question,
                         const VanillaOptions& options, Sender& sender, const std::stop_token& stop) {
  Made out;
  const OnText forward = [&sender](std::string_view text) { return sender.push(text); };
  if (context.answer) {
    sender.push(context.answer->bytes());
    out.finish = "stop";
    out.notes.emplace_back("the keywords are the answer, so the model was not asked");
  } else if (context.closed_book) {
    Question alone;
    alone.text = question;
    GenerateOptions generate;
    generate.max_new_tokens = options.max_new_tokens;
    auto made = model.generate(no_retrieval_prompt(alone), generate, stop, forward);
    if (!made) return made.error();
    out.finish = finish_reason_name(made->finish);
    out.prompt_tokens = made->prompt_tokens;
    out.generated_tokens = made->generated_tokens;
  } else if (context.passages.empty()) {
    sender.push(kNothingLeft);
    out.finish = "no_passages";
    out.notes.emplace_back("nothing was left that may be shown, so the model was not asked");
  } else {
    std::vector<PromptPassage> passages;
    for (const SanitizedPassage& each : context.passages) passages.push_back({each.title, each.text});
    auto made = answer_vanilla(model, question, passages, options, forward, stop);
    if (!made) return made.error();
    out.finish = finish_reason_name(made->finish);
    out.prompt_tokens = made->prompt_tokens;
    out.generated_tokens = made->generated_tokens;
    out.passages_used = made->passages_used;
    out.cited = std::move(made->cited);
    out.neutralised = std::move(made->neutralised);
  }
  sender.finish();
  return out;
}

StageEvidence stage_of(const SanitizerRecord& record, std::span<const Hit> hits, const SanitizedContext& context) {
  StageEvidence stage;
  stage.stage = "sanitize";
  stage.parameters.emplace_back("mode", record.mode);
  stage.parameters.insert(stage.parameters.end(), record.parameters.begin(), record.parameters.end());
  stage.passages_in = hits.size();
  for (std::size_t i = 0; i < hits.size(); ++i) {
    const bool goes_on = std::any_of(context.passages.begin(), context.passages.end(),
                                     [i](const SanitizedPassage& each) { return each.origin == i; });
    if (goes_on) ++stage.passages_out;
    Verdict verdict;
    verdict.chunk = hits[i].id;
    verdict.document = hits[i].document;
    verdict.decision = goes_on ? Decision::kMasked : Decision::kDropped;
    verdict.reason = goes_on ? "what stands in its place goes on" : "nothing of it goes on";
    if (record.mode == "vanilla") verdict.decision = Decision::kKept;
    if (i < record.passages.size())
      verdict.measures.emplace_back("longest_shared_run_words",
                                    static_cast<double>(record.passages[i].longest_shared_run));
    stage.verdicts.push_back(std::move(verdict));
  }
  stage.notes = record.notes;
  return stage;
}

/// Characters of a passage that may get out where it stands in the prompt as it is.
std::size_t disclosed_whole(const UntrustedText& title, const UntrustedText& text, const GuardOptions* guard) {
  const std::size_t count = count_code_points(title.bytes()) + count_code_points(text.bytes());
  return guard == nullptr ? count : static_cast<std::size_t>(guard->max_share * static_cast<double>(count));
}

std::string used_up(const std::string& document) {
  return "the budget of text that may be disclosed of " + UntrustedText(document).for_log(80) +
         " is used up: it is withheld";
}

/// Takes out what the caller's budget has no room for. What is made of several passages counts for each of them.
void withhold(const QueryOptions& options, const GuardOptions* guard, std::span<const Hit> hits,
              SanitizedContext& context, StageEvidence& stage) {
  if (!options.may_disclose) return;
  std::map<std::string, std::size_t> wanted;
  std::size_t for_all = context.answer ? count_code_points(context.answer->bytes()) : 0;
  for (const SanitizedPassage& each : context.passages) {
    if (each.mixed) {
      for_all += count_code_points(each.text.bytes());
      continue;
    }
    const bool whole = each.text == hits[each.origin].text;
    wanted[hits[each.origin].document] += disclosed_whole(each.title, each.text, whole ? guard : nullptr);
  }
  if (for_all > 0) {
    for (const Hit& hit : hits) wanted.try_emplace(hit.document, 0);
    for (auto& [document, count] : wanted) count += for_all;
  }
  for (const auto& [document, count] : wanted) {
    if (options.may_disclose(document, count)) continue;
    std::erase_if(context.passages,
                  [&](const SanitizedPassage& each) { return each.mixed || hits[each.origin].document == document; });
    context.answer.reset();
    stage.notes.push_back(used_up(document));
  }
  context.record.disclosed_characters = 0;
  for (const SanitizedPassage& each : context.passages)
    context.record.disclosed_characters += count_code_points(each.text.bytes());
}

/// The same before groups are asked: passages of documents whose budget is used up are no hits.
void withhold_hits(const QueryOptions& options, const GuardOptions* guard, SearchResult& found) {
  if (!options.may_disclose) return;
  std::map<std::string, std::size_t> wanted;
  for (const Hit& hit : found.hits) wanted[hit.document] += disclosed_whole(hit.title, hit.text, guard);
  for (const auto& [document, count] : wanted) {
    if (options.may_disclose(document, count)) continue;
    std::erase_if(found.hits, [&name = document](const Hit& hit) { return hit.document == name; });
    if (!found.evidence.stages.empty()) found.evidence.stages.back().notes.push_back(used_up(document));
  }
}

/// What both attempts reproduced: a canary in one that was thrown away is an incident too.
GuardReport both(const GuardReport& thrown_away, GuardReport report) {
  report.incidents.insert(report.incidents.begin(), thrown_away.incidents.begin(), thrown_away.incidents.end());
  report.longest_run_words = std::max(report.longest_run_words, thrown_away.longest_run_words);
  report.largest_share = std::max(report.largest_share, thrown_away.largest_share);
  return report;
}

/// The numbers that the generator saw come first, so that what the answer names is what it means.
void add_sources(const SanitizedContext& context, std::span<const std::size_t> cited, std::vector<Hit> hits,
                 Answer& answer) {
  std::vector<std::size_t> order;
  for (const SanitizedPassage& each : context.passages) {
    if (std::find(order.begin(), order.end(), each.origin) == order.end()) order.push_back(each.origin);
  }
  const std::size_t shown = order.size();
  for (std::size_t i = 0; i < hits.size(); ++i) {
    if (std::find(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(shown), i) ==
        order.begin() + static_cast<std::ptrdiff_t>(shown))
      order.push_back(i);
  }
  for (std::size_t i = 0; i < order.size(); ++i) {
    Source source;
    source.number = static_cast<int>(i) + 1;
    source.cited = i < shown && std::find(cited.begin(), cited.end(), i + 1) != cited.end();
    source.hit = std::move(hits[order[i]]);
    answer.sources.push_back(std::move(source));
  }
}

}  // namespace

Status Pipeline::State::prepare_protection() {
  SanitizerServices services;
  services.model = parts.model;
  services.backbone = parts.backbone;
  services.reranker = parts.reranker;
  if (policy.sanitize && parts.model != nullptr) {
    if (policy.generation.aggregation) {
      return Error{
          ErrorCode::kInvalidOption,
          "facts are made of all passages together, and an aggregation needs groups that nothing mixes: choose "
          "either a sanitizer or an aggregation"};
    }
    auto made = create_sanitizer(*policy.sanitize, services);
    if (!made) return made.error();
    sanitizer = *std::move(made);
  }
  if (!policy.guard) return {};
  if (Status good = validate(*policy.guard); !good) return good;
  if (policy.guard->reaction == GuardReaction::kFacts && parts.model != nullptr) {
    auto made = create_sanitizer({"kfs-fact"}, services);
    if (!made) return made.error();
    facts = *std::move(made);
  }
  return {};
}

Result<Answer> Pipeline::State::ask_protected(SearchResult found, const UntrustedText& question,
                                              const QueryOptions& options, const OnAnswer& on_text,
                                              std::stop_token stop) const {
  if (sanitizer && !options.options.empty())
    return Error{ErrorCode::kInvalidArgument,
                 "a multiple choice is answered by groups of passages, which a sanitizer would mix: leave one of both"};
  const std::vector<ContextPassage> raw = context_of(found.hits);
  std::vector<std::string> canaries;
  std::unique_ptr<OutputGuard> guard;
  const auto fresh_guard = [&]() -> Status {
    if (!policy.guard) return {};
    auto made = OutputGuard::create(*policy.guard, raw, canaries);
    if (!made) return made.error();
    guard = *std::move(made);
    return {};
  };
  if (policy.guard) {
    const auto kept = parts.store->setting(options.tenant, kCanarySetting);
    if (!kept) return kept.error();
    const std::string lines = kept->value_or("");
    for (std::size_t at = 0; at < lines.size();) {
      const std::size_t end = std::min(lines.find('\n', at), lines.size());
      if (end > at) canaries.push_back(lines.substr(at, end - at));
      at = end + 1;
    }
    if (Status made = fresh_guard(); !made) return made.error();
  }
  if (policy.generation.aggregation || !options.options.empty()) {
    withhold_hits(options, policy.guard ? &*policy.guard : nullptr, found);
    if (found.hits.empty()) return answer_from_nothing(std::move(found), question);
    auto answer = ask_groups(std::move(found), question, options, stop);
    if (!answer) return answer;
    const std::string whole = answer->text.for_json();
    Sender sender(guard.get(), false, on_text);
    sender.push(answer->text.bytes());
    sender.finish();
    sender.send_all();
    answer->text = UntrustedText(sender.text());
    if (sender.ended()) answer->finish_reason = "withheld";
    if (sender.ended() || sender.text() != whole) answer->certificate.clear();  // it is about the whole answer
    if (guard) answer->evidence.guard = guard->report();
    return answer;
  }
  Answer answer;
  answer.question = question;
  answer.policy = found.policy;
  answer.evidence = std::move(found.evidence);
  SanitizedContext context = as_they_are(raw);
  context.record.mode = "vanilla";
  VanillaOptions generate;
  generate.max_new_tokens = max_new_tokens(options);
  generate.style = options.style;
  // An answer that may be given again must not have begun to go out.
  const bool streams = !policy.guard || policy.guard->reaction != GuardReaction::kFacts;
  const Sanitizer* maker = sanitizer.get();
  for (bool again = false;; again = true) {
    if (maker != nullptr) {
      auto made = maker->sanitize(question, raw, stop);
      if (!made) return made.error();
      context = *std::move(made);
    }
    StageEvidence sanitised = stage_of(context.record, found.hits, context);
    withhold(options, policy.guard ? &*policy.guard : nullptr, found.hits, context, sanitised);
    answer.evidence.stages.push_back(std::move(sanitised));
    generate.rule = context.rule;
    Sender sender(guard.get(), streams, on_text);
    auto made = make_answer(*parts.model, context, question, generate, sender, stop);
    if (!made) return made.error();
    StageEvidence stage;
    stage.stage = "generate";
    stage.parameters = {{"method", "vanilla"},
                        {"model", parts.model->info().name},
                        {"max_new_tokens", std::to_string(generate.max_new_tokens)}};
    stage.passages_in = context.passages.size();
    stage.passages_out = made->passages_used;
    stage.notes = made->notes;
    note_neutralised(made->neutralised, stage);
    answer.prompt_tokens += made->prompt_tokens;
    answer.generated_tokens += made->generated_tokens;
    answer.text = UntrustedText(sender.text());
    answer.finish_reason = sender.ended() ? "withheld" : made->finish;
    const bool retry = sender.ended() && facts && !again;
    if (sender.ended()) {
      stage.notes.emplace_back(retry
                                   ? "the answer reproduced too much: it was thrown away and is given again from facts"
                                   : "the answer reproduced too much: the guard ended it");
    }
    answer.evidence.stages.push_back(std::move(stage));
    if (guard)
      answer.evidence.guard = answer.evidence.guard ? both(*answer.evidence.guard, guard->report()) : guard->report();
    if (retry) {
      maker = facts.get();
      if (Status fresh = fresh_guard(); !fresh) return fresh.error();
      continue;
    }
    sender.send_all();
    if (maker != nullptr) answer.evidence.sanitizer = context.record;
    add_sources(context, made->cited, std::move(found.hits), answer);
    return answer;
  }
}

}  // namespace casemate
