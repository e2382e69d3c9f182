#include "casemate/sanitize/ap_keywords.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "casemate/sanitize/attention_rollout.h"
#include "sanitize/ap_context.h"
#include "sanitize/candidate_phrases.h"
#include "sanitize/perturbation.h"

namespace casemate {
namespace {

using sanitize::ContextWords;
using sanitize::FittedContext;
using sanitize::PlacedPhrase;

Status check(std::string_view field, int value, int low, int high) {
  if (value >= low && value <= high) return {};
  return Error{ErrorCode::kInvalidOption, std::string(field) + " is " + std::to_string(value) + "; it must be in [" +
                                              std::to_string(low) + ", " + std::to_string(high) + "]"};
}

/// Mean over the words of the mean over each word's tokens (the paper's equation 4, and its phrases).
class WordScores {
 public:
  WordScores(const ContextWords& context, const PromptTokens& tokens, const std::vector<int>& parts, int message,
             std::span<const double> scores) {
    // Tokens of each passage in order of their bytes, so that a word finds its own by bisection.
    std::vector<std::vector<std::size_t>> of_passage(parts.size());
    for (std::size_t t = 0; t < tokens.ids.size(); ++t) {
      const PromptTokenOrigin& origin = tokens.origins[t];
      if (origin.message != message) continue;
      const auto part = std::find(parts.begin(), parts.end(), origin.part);
      if (origin.part >= 0 && part != parts.end())
        of_passage[static_cast<std::size_t>(part - parts.begin())].push_back(t);
    }
    for (const sanitize::ContentWord& word : context.words) {
      const auto& all = of_passage[word.place.passage];
      auto token = std::partition_point(
          all.begin(), all.end(), [&](std::size_t t) { return tokens.origins[t].span.end <= word.place.span.begin; });
      double sum = 0;
      std::size_t count = 0;
      for (; token != all.end() && tokens.origins[*token].span.begin < word.place.span.end; ++token, ++count)
        sum += scores[*token];
      words_.push_back(count > 0 ? sum / static_cast<double>(count) : 0.0);
    }
  }

  [[nodiscard]] double of(const PlacedPhrase& phrase) const {
    double sum = 0;
    for (std::size_t i = 0; i < phrase.words; ++i) sum += words_[phrase.first_word + i];
    return sum / static_cast<double>(phrase.words);
  }

 private:
  std::vector<double> words_;
};

/// A phrase by its form: the place where it scores best stands for it.
struct Ranked {
  PlacedPhrase phrase;
  double rollout = 0;
  double direct = 0;
};

struct AttentionScores {
  WordScores rollout;
  WordScores direct;
};

std::vector<Ranked> distinct(const ContextWords& context, const std::optional<AttentionScores>& scores) {
  std::vector<Ranked> out;
  std::map<std::string, std::size_t> known;
  for (const PlacedPhrase& phrase : context.phrases) {
    Ranked each{phrase};
    if (scores) {
      each.rollout = scores->rollout.of(phrase);
      each.direct = scores->direct.of(phrase);
    }
    const auto [at, fresh] = known.emplace(context.form(phrase), out.size());
    if (fresh) {
      out.push_back(each);
      continue;
    }
    Ranked& before = out[at->second];
    if (each.direct > before.direct) before.phrase = phrase;
    before.direct = std::max(before.direct, each.direct);
    before.rollout = std::max(before.rollout, each.rollout);
  }
  return out;
}

/// The first `most` by the attention that is asked for. Ties keep the order of the text.
std::vector<Ranked> propose(std::vector<Ranked> all, ApAttention attention, std::size_t most) {
  std::vector<Ranked> by_rollout = all;
  std::stable_sort(by_rollout.begin(), by_rollout.end(),
                   [](const Ranked& a, const Ranked& b) { return a.rollout > b.rollout; });
  std::stable_sort(all.begin(), all.end(), [](const Ranked& a, const Ranked& b) { return a.direct > b.direct; });
  std::vector<Ranked> out;
  std::set<std::size_t> taken;
  const auto take = [&](const Ranked& each) {
    if (out.size() < most && taken.insert(each.phrase.first_word).second) out.push_back(each);
  };
  for (std::size_t i = 0; i < all.size() && out.size() < most; ++i) {
    if (attention != ApAttention::kRollout) take(all[i]);
    if (attention != ApAttention::kDirect) take(by_rollout[i]);
  }
  return out;
}

/// Both attentions of the draft's tokens. A draft without tokens reads from the prompt's last one.
Result<AttentionScores> attention_scores(const AttentionTriangles& attention, const FittedContext& fitted,
                                         const ContextWords& context, const std::stop_token& stop) {
  const std::size_t all = attention.tokens();
  std::vector<double> rows(all, 0.0);
  const std::size_t first = std::min(fitted.tokens.ids.size(), all - 1);
  for (std::size_t j = first; j < all; ++j) rows[j] = 1.0 / static_cast<double>(all - first);
  const auto rolled = attention.rollout(rows, stop);
  if (!rolled) return rolled.error();
  const auto direct = attention.mean_attention(rows);
  if (!direct) return direct.error();
  const auto parts = sanitize::passage_parts(fitted.prompt, fitted.passages);
  const int message = static_cast<int>(fitted.prompt.messages.size()) - 1;
  return AttentionScores{WordScores(context, fitted.tokens, parts, message, *rolled),
                         WordScores(context, fitted.tokens, parts, message, *direct)};
}

/// The draft, and the attention where it is asked for or the draft is empty.
struct Draft {
  Generation answer;
  std::optional<AttentionTriangles> attention;
};

Result<Draft> make_draft(LanguageModel& model, std::span<const TokenId> prompt, const GenerateOptions& options,
                         bool with_attention, const std::stop_token& stop) {
  if (with_attention) {
    auto made = generate_and_capture(model, prompt, options, stop);
    if (!made) return made.error();
    return Draft{std::move(made->generation), std::move(made->attention)};
  }
  auto answer = model.generate_tokens(prompt, options, stop);
  if (!answer) return answer.error();
  Draft out{*std::move(answer), std::nullopt};
  if (!out.answer.ids.empty()) return out;
  auto attention = capture_attention(model, prompt, stop);
  if (!attention) return attention.error();
  out.attention = *std::move(attention);
  return out;
}

void choose_keywords(ApKeywords& out, const ApOptions& options, bool perturbed) {
  out.chosen.resize(out.candidates.size());
  std::iota(out.chosen.begin(), out.chosen.end(), std::size_t{0});
  if (perturbed) {
    const auto weight = [&](std::size_t i) {
      const double change = out.candidates[i].loss_change.value_or(0);
      return options.loss == LossChange::kAbsolute ? std::abs(change) : change;
    };
    std::stable_sort(out.chosen.begin(), out.chosen.end(),
                     [&](std::size_t a, std::size_t b) { return weight(a) > weight(b); });
  }
  if (out.chosen.size() > static_cast<std::size_t>(options.k_out))
    out.chosen.resize(static_cast<std::size_t>(options.k_out));
  for (const std::size_t i : out.chosen) out.candidates[i].chosen = true;
}

}  // namespace

Status validate(const ApOptions& options) {
  Status status = check("k_cand", options.k_cand, 1, 64);
  if (status)
    status = check("k_out", options.k_out, 1, options.steps == ApSteps::kPerturbationOnly ? 64 : options.k_cand);
  if (status) status = check("max_draft_tokens", options.max_draft_tokens, 1, 512);
  if (status) status = check("max_context_tokens", options.max_context_tokens, 64, 32768);
  if (status) status = check("max_perturbed", options.max_perturbed, 1, 255);
  return status;
}

Result<ApKeywords> find_ap_keywords(LanguageModel& model, const KeywordExtractor& tagger, const UntrustedText& question,
                                    std::span<const ContextPassage> passages, const ApOptions& options,
                                    std::stop_token stop) {
  if (Status good = validate(options); !good) return good.error();
  const bool with_attention = options.steps != ApSteps::kPerturbationOnly;
  const bool with_perturbation = options.steps != ApSteps::kAttentionOnly;
  Status able = require(model, {Feature::kTokens}, "keywords");
  if (able && with_attention) able = require(model, {Feature::kTokens, Feature::kAttention}, "keywords by attention");
  if (able && with_perturbation && !model.capabilities().has(Feature::kContinuationLoss))
    able = require(model, {Feature::kTokens, Feature::kFullLogProbabilities, Feature::kSharedPrefix},
                   "keywords by perturbation");
  if (!able) return able.error();
  std::size_t limit = static_cast<std::size_t>(options.max_context_tokens);
  if (model.info().context_tokens > 0) limit = std::min(limit, model.info().context_tokens);
  auto fitted = sanitize::fit_context(model, passages, limit, static_cast<std::size_t>(options.max_draft_tokens),
                                      [&](std::span<const ContextPassage> some) { return ap_prompt(question, some); });
  if (!fitted) return fitted.error();
  ApKeywords out;
  out.passages_used = fitted->passages.size();
  out.cut = fitted->cut;
  out.prompt_tokens = fitted->tokens.ids.size();
  if (fitted->cut || fitted->passages.size() < passages.size()) {
    out.notes.push_back("the keyword model reads " + std::to_string(fitted->passages.size()) + " of " +
                        std::to_string(passages.size()) + " passages" +
                        (fitted->cut ? ", the last one cut at a sentence" : "") + ": more does not fit it");
  }
  const ContextWords context = sanitize::context_words(tagger, fitted->passages);
  if (context.phrases.empty()) {
    out.notes.emplace_back("the context has no content words, so there are no keywords");
    return out;
  }
  GenerateOptions generate;
  generate.max_new_tokens = options.max_draft_tokens;
  generate.stop = {"\n"};
  generate.top_log_probabilities = 1;
  auto made = make_draft(model, fitted->tokens.ids, generate, with_attention, stop);
  if (!made) return made.error();
  Generation* draft = &made->answer;
  out.draft = std::move(draft->text);
  out.draft_tokens = draft->ids.size();
  for (const GeneratedPosition& position : draft->positions) out.draft_loss -= position.chosen.log_probability;
  if (!draft->positions.empty()) out.draft_loss /= static_cast<double>(draft->positions.size());
  if (draft->ids.empty()) out.notes.emplace_back("the draft is empty: attention is read from the prompt's end");

  std::optional<AttentionScores> scores;
  if (made->attention) {
    out.attention_bytes = made->attention->bytes();
    auto scored = attention_scores(*made->attention, *fitted, context, stop);
    if (!scored) return scored.error();
    scores.emplace(*std::move(scored));
    made->attention.reset();
  }
  std::vector<Ranked> ranked = distinct(context, scores);
  if (!with_attention && ranked.size() > static_cast<std::size_t>(options.max_perturbed)) {
    out.notes.push_back("only the first " + std::to_string(options.max_perturbed) + " of " +
                        std::to_string(ranked.size()) + " candidates were perturbed");
    ranked.resize(static_cast<std::size_t>(options.max_perturbed));
  }
  if (with_attention) ranked = propose(std::move(ranked), options.attention, static_cast<std::size_t>(options.k_cand));
  for (const Ranked& each : ranked) {
    const PassageSpan place = context.place(each.phrase);
    ApCandidate candidate;
    candidate.phrase = UntrustedText(context.texts[place.passage].substr(place.span.begin, place.span.size()));
    candidate.occurrences = sanitize::occurrences(context, each.phrase);
    candidate.rollout = each.rollout;
    candidate.direct = each.direct;
    out.candidates.push_back(std::move(candidate));
  }
  const bool perturb = with_perturbation && !draft->ids.empty();
  if (perturb) {
    if (Status done = sanitize::perturb(model, question, *fitted, context, draft->ids, options, out, stop); !done)
      return done.error();
  }
  choose_keywords(out, options, perturb);
  return out;
}

}  // namespace casemate
