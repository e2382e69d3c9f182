#include "casemate/pipeline/replay.h"

#include <algorithm>
#include <cstdlib>
#include <map>

#include "casemate/certify/certify_answer.h"
#include "casemate/text/keywords.h"
#include "store/live_ids.h"

namespace casemate {
namespace {

constexpr std::size_t kReplayBatch = 256;

double as_number(Billionths value) { return static_cast<double>(value) / static_cast<double>(kOne); }

/// The task whose prompts have this hash. Error: Mismatch.
Result<AnswerTask> task_of(const Digest& prompts) {
  for (const AnswerTask task : {AnswerTask::kShortAnswer, AnswerTask::kMultipleChoice, AnswerTask::kLongText}) {
    if (prompt_hash(task) == prompts) return task;
  }
  return Error{ErrorCode::kMismatch, "the certificate's prompts are not those of this version"};
}

/// What the answer was made with, as far as the certificate says.
Result<RobustOptions> options_of(const Certificate& certificate, AnswerTask task) {
  RobustOptions out;
  if (const auto* keyword = std::get_if<KeywordEvidence>(&certificate.evidence)) {
    out = robust_options(Aggregation::kKeyword, task);
    const auto alpha = Decimal::parse(keyword->alpha);
    if (!alpha) return alpha.error();
    out.threshold.alpha = *alpha;
    const auto beta = Decimal::parse(keyword->beta);
    if (!beta) return beta.error();
    out.threshold.beta = *beta;
    out.max_new_tokens = static_cast<int>(keyword->max_new_tokens);
  } else if (const auto* decoding = std::get_if<DecodingEvidence>(&certificate.evidence)) {
    out = robust_options(Aggregation::kDecoding, task);
    out.eta = as_number(decoding->eta);
    out.gamma = as_number(decoding->gamma);
    out.max_new_tokens = static_cast<int>(decoding->max_new_tokens);
  } else {
    out = robust_options(Aggregation::kVoting, task);
    out.max_new_tokens = static_cast<int>(std::get<VotingEvidence>(certificate.evidence).max_new_tokens);
  }
  out.group_size = static_cast<int>(certificate.group_size);
  out.trace = true;
  return out;
}

/// The question whose text with these options is `asked`. Error: Mismatch.
Result<Question> question_of(const UntrustedText& asked, AnswerTask task, std::span<const UntrustedText> options) {
  Question out;
  out.task = task;
  out.options.assign(options.begin(), options.end());
  const std::string& whole = asked.bytes();
  const std::string tail = CertifiedQuestion::of(asked_text(out)).text->bytes();
  if (!whole.ends_with(tail))
    return Error{ErrorCode::kMismatch, "the options are not those of the certificate's question"};
  out.text = UntrustedText(whole.substr(0, whole.size() - tail.size()));
  return out;
}

std::string near(Billionths was, Billionths now) {
  return "was " + std::to_string(as_number(was)) + ", is " + std::to_string(as_number(now));
}

/// Compares what a certificate says with what came out again.
class Comparison {
 public:
  explicit Comparison(Billionths epsilon) : epsilon_(epsilon) {}

  void same(std::string what, bool holds, std::string detail = {}) {
    checks_.push_back({std::move(what), holds, std::move(detail)});
  }
  [[nodiscard]] bool close(Billionths was, Billionths now) const { return std::llabs(was - now) <= epsilon_; }

  void compare(const VotingEvidence& was, const VotingEvidence& now) {
    groups(was.groups, now.groups, [](const VotingGroup& a, const VotingGroup& b) { return a.vote == b.vote; });
  }
  void compare(const KeywordEvidence& was, const KeywordEvidence& now) {
    groups(was.groups, now.groups,
           [](const KeywordGroup& a, const KeywordGroup& b) { return a.keywords == b.keywords; });
    same("the same words are hints again", was.kept == now.kept);
  }
  void compare(const DecodingEvidence& was, const DecodingEvidence& now) {
    std::string differs;
    for (std::size_t i = 0; i < was.steps.size() && differs.empty(); ++i) {
      if (i >= now.steps.size() || was.steps[i].token != now.steps[i].token) {
        differs = "step " + std::to_string(i + 1) + " emits another token";
      } else {
        differs = step_difference(was.steps[i], now.steps[i]);
        if (!differs.empty()) differs = "step " + std::to_string(i + 1) + ": " + differs;
      }
    }
    same("every group gives every listed probability again to within epsilon", differs.empty(), differs);
  }

  [[nodiscard]] std::vector<CertificateCheck> take() { return std::move(checks_); }

 private:
  template <typename Group, typename Same>
  void groups(const std::vector<Group>& was, const std::vector<Group>& now, const Same& same_meaning) {
    std::string differs = was.size() == now.size() ? "" : "there are other groups";
    for (std::size_t g = 0; g < was.size() && differs.empty(); ++g) {
      if (!same_meaning(was[g], now[g]) || was[g].answer != now[g].answer)
        differs = "group " + std::to_string(g + 1) + " answers otherwise";
      // A margin is the difference of two probabilities.
      if (std::llabs(was[g].margin - now[g].margin) > 2 * epsilon_)
        differs = "group " + std::to_string(g + 1) + ": its margin " + near(was[g].margin, now[g].margin);
    }
    same("every group gives its answer again", differs.empty(), differs);
  }

  std::string step_difference(const DecodingStep& was, const DecodingStep& now) const {
    for (std::size_t g = 0; g < was.groups.size(); ++g) {
      if (!was.groups[g]) continue;
      if (g >= now.groups.size() || !now.groups[g]) return "group " + std::to_string(g + 1) + " does not take part";
      std::map<std::int32_t, Billionths> found;
      for (const TokenProbability& each : now.groups[g]->listed) found[each.token] = each.probability;
      for (const TokenProbability& each : was.groups[g]->listed) {
        const auto again = found.find(each.token);
        const Billionths probability = again == found.end() ? 0 : again->second;
        const bool unlisted = again == found.end() && each.probability <= now.groups[g]->largest_unlisted + epsilon_;
        if (!unlisted && !close(each.probability, probability)) {
          return "group " + std::to_string(g + 1) + ", token " + std::to_string(each.token) + " " +
                 near(each.probability, probability);
        }
      }
    }
    return {};
  }

  Billionths epsilon_;
  std::vector<CertificateCheck> checks_;
};

}  // namespace

Result<std::vector<PromptPassage>> find_passages(const Store& store, std::string_view tenant,
                                                 const Certificate& certificate, Progress& progress,
                                                 std::stop_token stop) {
  const auto snapshot = store.snapshot(tenant);
  if (!snapshot) return snapshot.error();
  std::map<Digest, PromptPassage> wanted;
  for (const Digest& hash : certificate.passages) wanted.try_emplace(hash);
  std::map<Digest, bool> found;
  const std::vector<ChunkId> ids = live_ids(**snapshot);
  progress.begin("looking for the passages", ids.size(), "passages");
  std::map<std::string, UntrustedText> titles;
  for (std::size_t first = 0; first < ids.size() && found.size() < wanted.size(); first += kReplayBatch) {
    if (stop.stop_requested()) return Error{ErrorCode::kCancelled, "the caller asked to stop"};
    const std::size_t count = std::min(kReplayBatch, ids.size() - first);
    const auto chunks = store.chunks(tenant, std::span(ids).subspan(first, count));
    if (!chunks) return chunks.error();
    for (const Result<StoredChunk>& chunk : *chunks) {
      if (!chunk) continue;
      auto title = titles.find(chunk->document_id);
      if (title == titles.end()) {
        const auto document = store.document(tenant, chunk->document_id);
        title = titles.emplace(chunk->document_id, document ? document->title : UntrustedText()).first;
      }
      PromptPassage passage{title->second, chunk->text};
      const Digest hash = passage_hash(passage);
      if (!wanted.contains(hash)) continue;
      wanted[hash] = std::move(passage);
      found[hash] = true;
    }
    progress.update(first + count);
  }
  progress.end();
  if (found.size() < wanted.size()) {
    return Error{ErrorCode::kNotFound, std::to_string(wanted.size() - found.size()) + " of the certificate's " +
                                           std::to_string(wanted.size()) +
                                           " different passages are not in the store (any more); a defence that masks "
                                           "passages also gives others than the store has"};
  }
  std::vector<PromptPassage> out;
  for (const Digest& hash : certificate.passages) out.push_back(wanted.at(hash));
  return out;
}

Result<std::vector<CertificateCheck>> replay_certificate(const Certificate& certificate,
                                                         std::span<const PromptPassage> passages,
                                                         std::span<const UntrustedText> options, LanguageModel& model,
                                                         std::stop_token stop) {
  if (!certificate.question.text)
    return Error{ErrorCode::kInvalidArgument, "the certificate withholds its question, so it cannot be asked again"};
  const auto task = task_of(certificate.prompts.group);
  if (!task) return task.error();
  if (*task == AnswerTask::kMultipleChoice && options.empty())
    return Error{ErrorCode::kInvalidArgument, "the question is a multiple choice: name its options"};
  Comparison comparison(certificate.epsilon);
  if (certificate.model.hash.empty() || model.info().file_hash.empty()) {
    comparison.same("the model's file is the certificate's", false,
                    "a remote model's file is not known, so it cannot be told whether it is the same");
  } else {
    comparison.same("the model's file is the certificate's", certificate.model.hash == model.info().file_hash,
                    "certificate " + certificate.model.hash + ", here " + model.info().file_hash);
  }
  auto robust = options_of(certificate, *task);
  if (!robust) return robust.error();
  std::unique_ptr<KeywordExtractor> extractor;
  if (robust->method == Aggregation::kKeyword) {
    auto made = KeywordExtractor::create();
    if (!made) return made.error();
    extractor = *std::move(made);
    robust->keywords = keywords_by(*extractor);
  }
  const auto question = question_of(*certificate.question.text, *task, options);
  if (!question) return question.error();
  const auto answer = answer_robustly(model, *question, passages, *robust, stop);
  if (!answer) return answer.error();
  comparison.same("the answer is the same", answer->text.for_json() == certificate.answer.bytes(),
                  answer->text.for_log());
  CertifyAnswerOptions certify;
  certify.epsilon = certificate.epsilon;
  const auto again = certify_answer(model, *question, passages, *robust, *answer, certify, stop);
  if (!again) return again.error();
  comparison.same("as many malicious passages are certified again", again->k_prime >= certificate.k_prime,
                  "certificate " + std::to_string(certificate.k_prime) + ", again " + std::to_string(again->k_prime) +
                      (again->limited_by.empty() ? "" : " (" + again->limited_by + ")"));
  if (!again->certificate) return comparison.take();
  std::visit(
      [&](const auto& was) {
        const auto* now = std::get_if<std::decay_t<decltype(was)>>(&again->certificate->evidence);
        if (now != nullptr) comparison.compare(was, *now);
      },
      certificate.evidence);
  return comparison.take();
}

}  // namespace casemate
