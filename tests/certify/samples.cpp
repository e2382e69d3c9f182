#include "certify/samples.h"

#include <gtest/gtest.h>

#include <optional>

#include "casemate/certify/decoding.h"
#include "casemate/certify/keyword.h"
#include "casemate/certify/make_certificate.h"
#include "casemate/certify/retrieval_condition.h"
#include "casemate/certify/voting.h"

namespace casemate::test {
namespace {

template <typename T>
T must(Result<T> result) {
  if (!result.ok()) ADD_FAILURE() << result.error().message;
  return *std::move(result);
}

Certificate voting_sample() {
  Certificate out = frame(10, 1, 1'000'000);
  VotingEvidence evidence;
  evidence.letters = {"A", "B", "C", "D"};
  evidence.winner = 1;
  for (const int vote : {1, 1, 1, 0, 1, -1, 1, 1, 2, 1}) {
    VotingGroup group;
    group.answer = UntrustedText(vote < 0 ? "I don't know" : evidence.letters[static_cast<std::size_t>(vote)]);
    if (vote >= 0) group.vote = static_cast<std::size_t>(vote);
    group.margin = 400'000'000;
    evidence.groups.push_back(group);
  }
  out.answer = UntrustedText("B");
  out.k_prime = must(certify_voting(evidence, {10, 1, out.epsilon})).k_prime;
  out.evidence = evidence;
  return out;
}

Certificate keyword_sample(bool several_sets) {
  Certificate out = frame(several_sets ? 6 : 10, 1, 1'000'000);
  KeywordEvidence evidence;
  const std::size_t groups = out.passages.size();
  for (std::size_t g = 0; g < groups; ++g) {
    KeywordGroup group{UntrustedText("It is Mount Everest."), std::vector<std::string>{"everest", "mount"},
                       300'000'000};
    if (several_sets && g < 2) group.keywords->push_back("nepal");
    evidence.groups.push_back(group);
  }
  if (!several_sets) evidence.groups[7] = {UntrustedText("I don't know."), std::nullopt, 900'000'000};
  const KeywordThreshold rule =
      must(KeywordThreshold::create(must(Decimal::parse(evidence.alpha)), must(Decimal::parse(evidence.beta))));
  evidence.kept = *kept_keywords(evidence.groups, rule);
  out.answer = UntrustedText("Mount Everest");
  const AnswerFromHints answer = [](std::span<const std::string> hints) -> Result<HintedAnswer> {
    return HintedAnswer{UntrustedText(hints.size() > 2 ? "Mount Everest" : "the Mount Everest."), 500'000'000};
  };
  const HintSet emitted{evidence.kept, out.answer, 500'000'000};
  auto made = must(certify_keyword(evidence.groups, emitted, {rule, out.epsilon, 64},
                                   {static_cast<std::int64_t>(groups), 1, out.epsilon},
                                   several_sets ? answer : AnswerFromHints()));
  out.k_prime = made.live.k_prime;
  evidence.hint_sets = made.hint_sets;
  out.prompts.second = blake2b("second");
  out.evidence = evidence;
  return out;
}

Certificate decoding_sample(bool fallback) {
  Certificate out = frame(fallback ? 3 : 5, 1, 1'000'000, 1000);
  DecodingEvidence evidence;
  evidence.eta = fallback ? 3 * kOne : 0;
  evidence.end_tokens = {2};
  for (std::size_t g = 0; g < out.passages.size(); ++g) evidence.groups.push_back({g == 1 ? kOne : 10'000'000});
  for (const std::int32_t token : {7, 9, 2}) {
    DecodingStep step;
    step.token = token;
    if (fallback) step.no_retrieval = {token};
    for (std::size_t g = 0; g < out.passages.size(); ++g) {
      step.groups.emplace_back();
      if (g == 1) continue;
      const auto rest = static_cast<Billionths>(5'000'000 * (g + 1));
      step.groups.back() = SparseProbabilities{{{token, kOne - 2 * rest}, {token + 1, rest}}, 2'000'000};
    }
    evidence.steps.push_back(step);
  }
  out.answer = UntrustedText("Edmund Hillary");
  out.k_prime =
      must(certify_decoding(evidence, 1000, {static_cast<std::int64_t>(out.passages.size()), 1, out.epsilon})).k_prime;
  out.prompts.without_retrieval = blake2b("without");
  out.evidence = evidence;
  return out;
}

Certificate composed_sample() {
  Certificate out = voting_sample();
  RetrievalEvidence retrieval;
  retrieval.fragments = 5;
  retrieval.combination = 3;
  retrieval.top_p = 10;
  retrieval.one = 1000;
  retrieval.s_max = 100;
  for (int id = 1; id <= 10; ++id) retrieval.results.push_back(id);
  for (std::uint32_t subset = 1; subset < 32; ++subset) {
    if (__builtin_popcount(subset) != 3) continue;
    RetrievalList list{subset, {}};
    for (int id = 1; id <= 10; ++id) list.entries.push_back({id, 3000 - 250 * id});
    retrieval.lists.push_back(list);
  }
  EXPECT_TRUE(bound_retrieval(retrieval).ok());
  out.retrieval = retrieval;
  return out;
}

}  // namespace

SigningKey key_of(char seed) { return *SigningKey::from_seed(std::string(32, seed)); }

Certificate frame(std::int64_t passages, std::int64_t group_size, Billionths epsilon, std::int64_t vocabulary) {
  Certificate out;
  out.created_at = 1'795'000'000;
  out.question = CertifiedQuestion::of(UntrustedText("Which mountain is the highest?"));
  for (std::int64_t i = 0; i < passages; ++i) out.passages.push_back(blake2b("passage " + std::to_string(i)));
  out.group_size = group_size;
  out.epsilon = epsilon;
  out.model = {"tiny", to_hex(sha256("tiny")), vocabulary};
  out.prompts.group = blake2b("group");
  return out;
}

Verification verify_claim(Certificate certificate, std::int64_t k_prime) {
  certificate.k_prime = k_prime;
  const auto file = sign_body(must(certificate_body(certificate)), key_of('k'));
  return must(verify_certificate(file, {key_of('k').public_key()}));
}

bool claim_holds(const Certificate& certificate, std::int64_t k_prime) {
  return verify_claim(certificate, k_prime).holds();
}

const std::map<std::string, Certificate>& samples() {
  static const std::map<std::string, Certificate> made = {
      {"voting", voting_sample()},
      {"keyword", keyword_sample(false)},
      {"keyword_sets", keyword_sample(true)},
      {"decoding", decoding_sample(false)},
      {"decoding_fallback", decoding_sample(true)},
      {"composed", composed_sample()},
  };
  return made;
}

const std::map<std::string, std::string>& sample_files() {
  static const std::map<std::string, std::string> files = [] {
    std::map<std::string, std::string> out;
    for (const auto& [name, certificate] : samples()) {
      auto file = write_certificate(certificate, key_of('k'));
      EXPECT_TRUE(file.ok()) << name << ": " << file.error().message;
      if (file.ok()) out[name] = *file;
    }
    return out;
  }();
  return files;
}

}  // namespace casemate::test
