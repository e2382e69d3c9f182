// Certificates that say something wrong, signed by another key or by the right one.
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "casemate/certify/make_certificate.h"
#include "certify/samples.h"

namespace casemate {
namespace {

using Json = nlohmann::json;
using test::key_of;
using test::samples;

/// Calls with every value that `json` holds, for changing one at a time.
void every_leaf(Json& json, const std::string& path, const std::function<void(Json&, const std::string&)>& visit) {
  if (json.is_object()) {
    for (auto& [key, value] : json.items()) every_leaf(value, path + "." + key, visit);
  } else if (json.is_array()) {
    for (std::size_t i = 0; i < json.size(); ++i) every_leaf(json[i], path + "." + std::to_string(i), visit);
    const Json before = json;
    json.push_back(before.empty() ? Json(1) : before.back());
    visit(json, path + " one more");
    json = before;
    if (!before.empty()) {
      json.erase(0);
      visit(json, path + " one fewer");
      json = before;
    }
  } else {
    const Json before = json;
    if (json.is_number()) json = json.get<std::int64_t>() + 1;
    if (json.is_string()) json = json.get<std::string>() + "0";
    if (json.is_boolean()) json = !json.get<bool>();
    if (json.is_null()) json = 0;
    visit(json, path);
    json = before;
  }
}

TEST(Sabotage, OfAnyFieldByAnotherKeyIsRefused) {
  int fields = 0;
  for (const auto& [name, file] : test::sample_files()) {
    Json body = Json::parse(file)["body"];
    every_leaf(body, "", [&, &sample = name](Json&, const std::string& path) {
      const auto found = verify_certificate(sign_body(body.dump(), key_of('x')), {key_of('k').public_key()});
      ASSERT_TRUE(!found.ok() || !found->holds()) << sample << path;
      ++fields;
    });
    // Not even without any change.
    const auto same = verify_certificate(sign_body(body.dump(), key_of('x')), {key_of('k').public_key()});
    ASSERT_TRUE(same.ok());
    EXPECT_FALSE(same->holds());
    EXPECT_TRUE(verify_certificate(sign_body(body.dump(), key_of('x')))->holds());  // the signer is not asked for
  }
  EXPECT_GT(fields, 600);
}

TEST(Sabotage, OfAnyFieldWithoutANewSignatureIsRefused) {
  for (const auto& [name, file] : test::sample_files()) {
    Json whole = Json::parse(file);
    every_leaf(whole["body"], "", [&, &sample = name](Json&, const std::string& path) {
      const auto found = verify_certificate(whole.dump() + "\n");
      ASSERT_TRUE(!found.ok() || !found->holds()) << sample << path;
    });
  }
}

/// Refuses the sample once `change` has been done to it and the right key has signed it again.
template <typename Evidence>
void refuses(const std::string& name, const std::string& what,
             const std::function<void(Certificate&, Evidence&)>& change) {
  Certificate certificate = samples().at(name);
  auto read = read_certificate(test::sample_files().at(name));
  ASSERT_TRUE(read.ok());
  certificate = read->certificate;  // with its counts
  ASSERT_TRUE(test::claim_holds(certificate, certificate.k_prime));
  change(certificate, std::get<Evidence>(certificate.evidence));
  const auto body = certificate_body(certificate);
  ASSERT_TRUE(body.ok());
  const auto found = verify_certificate(sign_body(*body, key_of('k')), {key_of('k').public_key()});
  EXPECT_TRUE(!found.ok() || !found->holds()) << name << ": " << what;
  // Not because of the signature, which is right.
  EXPECT_TRUE(!found.ok() || (found->checks.at(0).holds && found->checks.at(1).holds));
}

TEST(Sabotage, OfVotingByTheRightKeyIsRefused) {
  using Change = std::function<void(Certificate&, VotingEvidence&)>;
  const std::vector<std::pair<std::string, Change>> changes = {
      {"one more malicious passage", [](auto& c, auto&) { ++c.k_prime; }},
      {"another answer", [](auto& c, auto&) { c.answer = UntrustedText("A"); }},
      {"another winner",
       [](auto& c, auto& e) {
         e.winner = 0;
         c.answer = UntrustedText("A");
       }},
      {"a winner's vote too many", [](auto&, auto& e) { ++e.counts[1]; }},
      {"a rival's vote too few", [](auto&, auto& e) { --e.counts[0]; }},
      {"two votes for the rival",
       [](auto&, auto& e) {
         e.groups[0].vote = 0;
         e.groups[1].vote = 0;
         e.counts = {3, 5, 1, 0};
       }},
      {"an unstable group", [](auto&, auto& e) { e.groups[0].margin = 2'000'000; }},
      {"an unstable group whose vote does not count, and another one",
       [](auto&, auto& e) {
         e.groups[0].margin = e.groups[1].margin = 0;
         e.counts[1] = 5;
       }},
      {"more slack than the margins have", [](auto& c, auto&) { c.epsilon = 200'000'000; }},
      {"a vote of an answer that declines",
       [](auto&, auto& e) { e.groups[0].answer = UntrustedText("Sorry, I DON'T know"); }},
      {"a vote of an empty answer", [](auto&, auto& e) { e.groups[0].answer = UntrustedText(" \n"); }},
      {"larger groups", [](auto& c, auto&) { c.group_size = 2; }},
      {"fewer passages", [](auto& c, auto&) { c.passages.pop_back(); }},
      {"a letter less", [](auto&, auto& e) { e.letters.pop_back(); }},
      {"a letter twice", [](auto&, auto& e) { e.letters[3] = "A"; }},
      {"another question", [](auto& c, auto&) { c.question.text = UntrustedText("Who?"); }},
  };
  for (const auto& [what, change] : changes) refuses<VotingEvidence>("voting", what, change);
}

TEST(Sabotage, OfKeywordsByTheRightKeyIsRefused) {
  using Change = std::function<void(Certificate&, KeywordEvidence&)>;
  const std::vector<std::pair<std::string, Change>> changes = {
      {"one more malicious passage", [](auto& c, auto&) { ++c.k_prime; }},
      {"another answer", [](auto& c, auto&) { c.answer = UntrustedText("K2"); }},
      {"another answer everywhere",
       [](auto& c, auto& e) {
         c.answer = UntrustedText("K2");
         e.kept.clear();
         e.hint_sets[0] = {{}, UntrustedText("K2"), kOne};
       }},
      {"a count too many", [](auto&, auto& e) { ++e.counts[0].second; }},
      {"a count too few", [](auto&, auto& e) { --e.counts[0].second; }},
      {"a word that nobody said", [](auto&, auto& e) { e.counts.emplace_back("zebra", 1); }},
      {"a hint less",
       [](auto&, auto& e) {
         e.kept.pop_back();
         e.hint_sets[0].keywords.pop_back();
       }},
      {"a hint more",
       [](auto&, auto& e) {
         e.kept.emplace_back("zebra");
         e.hint_sets[0].keywords.emplace_back("zebra");
       }},
      {"hints that were not used", [](auto&, auto& e) { e.hint_sets[0].keywords = {}; }},
      {"a lower threshold", [](auto&, auto& e) { e.beta = "1"; }},
      {"a higher threshold",
       [](auto&, auto& e) {
         e.alpha = "1";
         e.beta = "10";
       }},
      {"no threshold", [](auto&, auto& e) { e.alpha = "0"; }},
      {"alpha over 1", [](auto&, auto& e) { e.alpha = "1.000000001"; }},
      {"a threshold below 1", [](auto&, auto& e) { e.beta = "0.9"; }},
      {"a threshold written another way", [](auto&, auto& e) { e.alpha = "0.30"; }},
      {"no number", [](auto&, auto& e) { e.beta = "3;"; }},
      {"an unstable second prompt", [](auto&, auto& e) { e.hint_sets[0].margin = 2'000'000; }},
      {"an unstable group that counts", [](auto&, auto& e) { e.groups[0].margin = 2'000'000; }},
      {"a word out of order",
       [](auto&, auto& e) { std::swap((*e.groups[0].keywords)[0], (*e.groups[0].keywords)[1]); }},
      {"a word twice", [](auto&, auto& e) { (*e.groups[0].keywords)[1] = (*e.groups[0].keywords)[0]; }},
      {"keywords of an answer that declines",
       [](auto&, auto& e) { e.groups[7].keywords = std::vector<std::string>(); }},
      {"more slack than the margins have", [](auto& c, auto&) { c.epsilon = 150'000'000; }},
      {"no sets of hints", [](auto&, auto& e) { e.hint_sets.clear(); }},
  };
  for (const auto& [what, change] : changes) refuses<KeywordEvidence>("keyword", what, change);

  ASSERT_GT(std::get<KeywordEvidence>(samples().at("keyword_sets").evidence).hint_sets.size(), 1U);
  const std::vector<std::pair<std::string, Change>> set_changes = {
      {"one more malicious passage", [](auto& c, auto&) { ++c.k_prime; }},
      {"only the set that was used",
       [](auto&, auto& e) {
         const std::vector<HintSet> all = e.hint_sets;
         for (const HintSet& set : all) {
           if (set.keywords == e.kept) e.hint_sets = {set};
         }
       }},
      {"the set that was used is left out",
       [](auto&, auto& e) {
         std::erase_if(e.hint_sets, [&](const HintSet& set) { return set.keywords == e.kept; });
         e.hint_sets.push_back({{"zebra"}, UntrustedText("Mount Everest"), kOne});
       }},
      {"another answer to one", [](auto&, auto& e) { e.hint_sets[0].answer = UntrustedText("K2"); }},
      {"another answer to the last", [](auto&, auto& e) { e.hint_sets.back().answer = UntrustedText("K2"); }},
      {"an unstable one", [](auto&, auto& e) { e.hint_sets[0].margin = 0; }},
      {"sets out of order", [](auto&, auto& e) { std::swap(e.hint_sets[0], e.hint_sets[1]); }},
  };
  for (const auto& [what, change] : set_changes) refuses<KeywordEvidence>("keyword_sets", what, change);
}

TEST(Sabotage, OfDecodingByTheRightKeyIsRefused) {
  using Change = std::function<void(Certificate&, DecodingEvidence&)>;
  const std::vector<std::pair<std::string, Change>> changes = {
      {"one more malicious passage", [](auto& c, auto&) { ++c.k_prime; }},
      {"another token", [](auto&, auto& e) { e.steps[0].token = 8; }},
      {"a token nobody lists", [](auto&, auto& e) { e.steps[1].token = 500; }},
      {"less probability",
       [](auto&, auto& e) {
         for (auto& group : e.steps[1].groups) {
           if (group) group->listed[0].probability = 300'000'000;
         }
       }},
      {"a rival",
       [](auto&, auto& e) {
         e.steps[1].groups[0]->listed[0].probability = 100'000'000;
         e.steps[1].groups[0]->listed[1].probability = 900'000'000;
         e.steps[1].groups[2]->listed[0].probability = 500'000'000;
         e.steps[1].groups[2]->listed[1].probability = 500'000'000;
       }},
      {"a looser bound",
       [](auto&, auto& e) {
         for (auto& group : e.steps[2].groups) {
           if (group) group->largest_unlisted = 900'000'000;
         }
       }},
      {"a larger eta", [](auto&, auto& e) { e.eta = 2 * kOne; }},
      {"a group near gamma", [](auto&, auto& e) { e.groups[0].refusal = 989'500'000; }},
      {"a group that abstains", [](auto&, auto& e) { e.groups[0].refusal = kOne; }},
      {"a group that does not abstain", [](auto&, auto& e) { e.groups[1].refusal = 0; }},
      {"a step without a group", [](auto&, auto& e) { e.steps[1].groups[0].reset(); }},
      {"probabilities of a group that abstains", [](auto&, auto& e) { e.steps[1].groups[1] = e.steps[1].groups[0]; }},
      {"probabilities over 1", [](auto&, auto& e) { e.steps[0].groups[0]->listed[0].probability = kOne + 1; }},
      {"negative probabilities", [](auto&, auto& e) { e.steps[0].groups[0]->listed[1].probability = -1; }},
      {"a sum over 1", [](auto&, auto& e) { e.steps[0].groups[0]->listed[1].probability = 100'000'000; }},
      {"tokens out of order",
       [](auto&, auto& e) { std::swap(e.steps[0].groups[0]->listed[0], e.steps[0].groups[0]->listed[1]); }},
      {"a token outside the vocabulary", [](auto&, auto& e) { e.steps[0].groups[0]->listed[1].token = 1000; }},
      {"no vocabulary", [](auto& c, auto&) { c.model.vocabulary = 0; }},
      {"no end", [](auto&, auto& e) { e.end_tokens.clear(); }},
      {"a step after the end", [](auto&, auto& e) { e.steps.push_back(e.steps.back()); }},
      {"an answer cut short", [](auto&, auto& e) { e.steps.pop_back(); }},
      {"an answer that is too long", [](auto&, auto& e) { e.max_new_tokens = 2; }},
      {"no steps", [](auto&, auto& e) { e.steps.clear(); }},
      {"more slack", [](auto& c, auto&) { c.epsilon = 400'000'000; }},
      {"a fallback that may be another token",
       [](auto&, auto& e) {
         e.eta = 2 * kOne;
         e.steps[0].no_retrieval = {7, 8};
       }},
  };
  for (const auto& [what, change] : changes) refuses<DecodingEvidence>("decoding", what, change);
  const std::vector<std::pair<std::string, Change>> fallback_changes = {
      {"a smaller eta", [](auto&, auto& e) { e.eta = 0; }},
      {"another token without retrieval", [](auto&, auto& e) { e.steps[1].no_retrieval = {8}; }},
      {"several tokens without retrieval",
       [](auto&, auto& e) {
         e.steps[1].no_retrieval = {8, 9};
       }},
      {"no token without retrieval", [](auto&, auto& e) { e.steps[1].no_retrieval = {}; }},
  };
  for (const auto& [what, change] : fallback_changes) refuses<DecodingEvidence>("decoding_fallback", what, change);
}

TEST(Sabotage, OfTheRetrievalPartByTheRightKeyIsRefused) {
  using Change = std::function<void(Certificate&, RetrievalEvidence&)>;
  const std::vector<std::pair<std::string, Change>> changes = {
      {"fewer planted votes", [](auto&, auto& r) { --r.planted_votes; }},
      {"more kept votes", [](auto&, auto& r) { r.kept_votes[9] = 10; }},
      {"fewer changed results", [](auto&, auto& r) { r.changed_at_most = 0; }},
      {"fewer planted results", [](auto&, auto& r) { r.planted_at_most = 0; }},
      {"an outsider's votes", [](auto&, auto& r) { r.outsider_votes = 1; }},
      {"an outsider among the results", [](auto&, auto& r) { r.results[9] = 99; }},
      {"a result twice", [](auto&, auto& r) { r.results[9] = 1; }},
      {"more planted passages", [](auto&, auto& r) { r.planted = 3; }},
      {"more poisoned fragments", [](auto&, auto& r) { r.poisoned_fragments = 2; }},
      {"more similar fragments", [](auto&, auto& r) { r.s_max = 900; }},
      {"a unit smaller than a similarity", [](auto&, auto& r) { r.one = 50; }},
      {"a list less", [](auto&, auto& r) { r.lists.pop_back(); }},
      {"a list twice", [](auto&, auto& r) { r.lists[1] = r.lists[0]; }},
      {"a list of other fragments", [](auto&, auto& r) { r.lists[0].subset = 3; }},
      {"a list out of order", [](auto&, auto& r) { std::swap(r.lists[0].entries[0], r.lists[0].entries[1]); }},
      {"a list with a passage twice", [](auto&, auto& r) { r.lists[0].entries[1] = r.lists[0].entries[0]; }},
      {"lower sums",
       [](auto&, auto& r) {
         for (RetrievalList& list : r.lists) {
           for (RetrievalEntry& entry : list.entries) entry.sum /= 4;
         }
       }},
      {"a place in the prompt", [](auto& c, auto&) { c.positions_in_prompt = true; }},
      {"fewer results than passages",
       [](auto&, auto& r) {
         --r.top_p;
         r.results.pop_back();
         r.kept_votes.pop_back();
         for (RetrievalList& list : r.lists) list.entries.pop_back();
       }},
  };
  for (const auto& [what, change] : changes) {
    refuses<VotingEvidence>("composed", what, [&f = change](Certificate& c, VotingEvidence&) { f(c, *c.retrieval); });
  }
}

TEST(Sabotage, ByTooMuchWorkIsRefusedInTime) {
  Certificate certificate = samples().at("voting");
  certificate.passages.assign(200, Digest{});
  KeywordEvidence keyword;
  keyword.groups.assign(200, KeywordGroup{UntrustedText("x"), std::vector<std::string>{"a"}, kOne});
  keyword.kept = {"a"};
  keyword.counts = {{"a", 200}};
  keyword.hint_sets = {{{}, UntrustedText("x"), kOne}, {{"a"}, UntrustedText("x"), kOne}};
  certificate.evidence = keyword;
  certificate.answer = UntrustedText("x");
  certificate.k_prime = 90;
  auto found = verify_certificate(sign_body(*certificate_body(certificate), key_of('k')));
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().code, ErrorCode::kLimit);

  certificate.model.vocabulary = 100'000;
  DecodingEvidence decoding;
  decoding.groups.resize(200);
  decoding.max_new_tokens = 1;
  decoding.eta = 50 * kOne;
  DecodingStep step{5, {5}, {}};
  for (int g = 0; g < 200; ++g) {
    SparseProbabilities group;
    for (int token = 0; token < 100; ++token) group.listed.push_back({100 * g + token + 10, 1'000'000});
    step.groups.emplace_back(group);
  }
  decoding.steps = {step};
  certificate.evidence = decoding;
  certificate.k_prime = 49;
  found = verify_certificate(sign_body(*certificate_body(certificate), key_of('k')));
  EXPECT_TRUE(!found.ok() || found->holds());
  decoding.eta = 0;
  certificate.evidence = decoding;
  found = verify_certificate(sign_body(*certificate_body(certificate), key_of('k')));
  EXPECT_TRUE(!found.ok() || !found->holds());
}

}  // namespace
}  // namespace casemate
