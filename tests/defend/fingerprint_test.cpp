#include "casemate/defend/fingerprint.h"

#include <limits>

#include "sealed_fixture.h"

namespace casemate {
namespace {

constexpr char kQuery[] = "when did the Harbour Bridge of Ostend open to traffic";
constexpr char kOriginal[] =
    "The Harbour Bridge of Ostend did open to traffic in 1912 after Anna Berg designed it for the town council and "
    "masons from the valley built four stone arches that carry carts trams and walkers across the tidal water";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

/// The bridge, other trusted documents, and untrusted ones, some of which share words with the query.
class FingerprintTest : public test::SealedFixture {
 protected:
  void SetUp() override {
    SealedFixture::SetUp();
    std::vector<NewDocument> all;
    all.push_back(document("bridge", kOriginal, {.trusted = true, .labels = {"staff"}}));
    for (std::uint64_t i = 0; i < 30; ++i) {
      const std::string number = std::to_string(i);
      all.push_back(
          document("t" + number, prose(i) + (i % 3 == 0 ? " bridge" : ""), {.trusted = true, .labels = {"all"}}));
      all.push_back(
          document("u" + number, prose(1000 + i) + (i % 2 == 0 ? " bridge traffic open" : ""), {.labels = {"all"}}));
    }
    add_all(all);
    seal();
  }
};

TEST_F(FingerprintTest, ACopyGainsItsAuthorNothing) {
  const auto defence = make();
  const Found before = search(*defence, kQuery, 5);
  ASSERT_EQ(before.documents.size(), 5U);
  ASSERT_EQ(before.documents[0], "bridge");
  add("copy", "  " + replaced(kOriginal, "The Harbour", "THE\u200B harbour") + ".");
  add("second copy", kOriginal);
  const Found after = search(*defence, kQuery, 5);
  EXPECT_EQ(after.documents, before.documents);
  EXPECT_EQ(after.scores, before.scores);
  EXPECT_EQ(after.about("copy").decision, Decision::kDropped);
  EXPECT_NE(after.about("copy").reason.find("copy of sealed document bridge"), std::string::npos);
  EXPECT_EQ(after.about("copy").copy_of, store_->document("default", "bridge")->first_chunk);
}

TEST_F(FingerprintTest, CopyingAPassageDoesNotPromoteIt) {
  FingerprintOptions options;
  options.pool_size = 5;
  const auto defence = make(options);
  const std::string query = "lamps on the quay";
  const Found before = search(*defence, query, 5);
  ASSERT_FALSE(before.has("t7"));
  // The poison that stands first for its query, with the text of a document that does not answer it.
  add("poison", query + " " + prose(7), {.embedding = embedding(query)});
  const Found after = search(*defence, query, 5);
  EXPECT_EQ(after.documents, before.documents);
  EXPECT_EQ(after.scores, before.scores);
  EXPECT_NE(after.about("poison").reason.find("t7"), std::string::npos);
}

TEST_F(FingerprintTest, APoisonedNearCopyAtRankOneLosesToTheOriginal) {
  const struct {
    std::string from, to, told;
  } cases[] = {{"1912", "1921", "number 1912 -> 1921"},
               {"Anna", "Olga", "name Anna -> Olga"},
               {"did open", "did not open", "negation + not"}};
  const auto defence = make();
  for (const auto& each : cases) {
    // Its embedding is the query's own: nothing ranks above it.
    add("poison", replaced(kOriginal, each.from, each.to), {.embedding = embedding(kQuery)});
    const Found found = search(*defence, kQuery, 3);
    ASSERT_FALSE(found.ranking.verdicts.empty());
    EXPECT_EQ(found.ranking.verdicts[0].document, "poison");
    EXPECT_EQ(found.documents.at(0), "bridge") << each.told;
    EXPECT_FALSE(found.has("poison"));
    EXPECT_NE(found.about("poison").reason.find("conflict with sealed document bridge"), std::string::npos);
    EXPECT_NE(found.about("poison").reason.find(each.told), std::string::npos) << found.about("poison").reason;
  }
}

TEST_F(FingerprintTest, APieceOfASealedTextWithAnotherNumberYieldsToo) {
  add("piece", "The Harbour Bridge of Ostend did open to traffic in 1921");
  const Found piece = search(*make(), kQuery, 3);
  EXPECT_EQ(piece.documents.at(0), "bridge");
  EXPECT_FALSE(piece.has("piece"));
  EXPECT_NE(piece.about("piece").reason.find("number + 1921"), std::string::npos) << piece.about("piece").reason;
  add("clean piece", "did open to traffic in 1912 after Anna Berg designed it for the town council");
  const Found clean = search(*make(), kQuery, 3);
  EXPECT_FALSE(clean.has("clean piece"));
  EXPECT_NE(clean.about("clean piece").reason.find("copy of"), std::string::npos);
}

TEST_F(FingerprintTest, HarmlessUntrustedPassagesStay) {
  const Found found = search(*make(), kQuery, 20);
  std::size_t untrusted = 0;
  for (const std::string& document : found.documents) untrusted += document[0] == 'u' ? 1 : 0;
  EXPECT_GE(untrusted, 5U);
  for (const Verdict& verdict : found.ranking.verdicts) {
    EXPECT_FALSE(verdict.copy_of.has_value()) << verdict.document;
  }
}

TEST_F(FingerprintTest, AFloodOfCopiesIsLookedThrough) {
  const auto defence = make();
  const Found before = search(*defence, kQuery, 5);
  std::vector<NewDocument> flood;
  for (int i = 0; i < 300; ++i)
    flood.push_back(document("flood" + std::to_string(i), kOriginal, {.embedding = embedding(kQuery)}));
  add_all(flood);
  const Found after = search(*defence, kQuery, 5);
  EXPECT_EQ(after.documents, before.documents);
  // Beyond max_examined only sealed passages are found, which is told.
  FingerprintOptions options;
  options.max_examined = 100;
  const Found deep = search(*make(options), kQuery, 5);
  ASSERT_EQ(deep.documents.size(), 5U);
  EXPECT_EQ(deep.documents[0], "bridge");
  for (const std::string& document : deep.documents) EXPECT_NE(document[0], 'u');
  ASSERT_FALSE(deep.ranking.notes.empty());
  EXPECT_NE(deep.ranking.notes[0].find("only sealed ones"), std::string::npos);
}

TEST_F(FingerprintTest, AnOriginalThatTheCallerMayNotSeeIsNeitherShownNorHintedAt) {
  add("poison", replaced(kOriginal, "1912", "1921"), {.labels = {"all"}});
  DocumentFilter filter;
  filter.any_of = {"all"};
  const Found found = search(*make(), kQuery, 5, filter);
  EXPECT_EQ(found.documents.at(0), "poison");  // as if the original were not in the store
  EXPECT_FALSE(found.has("bridge"));
  EXPECT_FALSE(found.about("poison").copy_of.has_value());
  for (const Verdict& verdict : found.ranking.verdicts)
    EXPECT_EQ(verdict.reason.find("document bridge"), std::string::npos);
  EXPECT_FALSE(search(*make(), kQuery, 5).has("poison"));
}

TEST_F(FingerprintTest, ATrustedFlagWithoutASealCountsForNothing) {
  add("poison", replaced(kOriginal, "1912", "1921"), {.trusted = true, .embedding = embedding(kQuery)});
  const Found found = search(*make(), kQuery, 5);
  EXPECT_FALSE(found.has("poison"));
  EXPECT_EQ(found.documents.at(0), "bridge");
}

TEST_F(FingerprintTest, AnOwnersUpdateWinsOnceItIsSealedAgain) {
  const auto defence = make();
  const std::string update = replaced(kOriginal, "1912", "1913");
  add("bridge", update, {.trusted = true, .labels = {"staff"}});
  add("old", kOriginal);
  const Found between = search(*defence, kQuery, 5);
  ASSERT_FALSE(between.ranking.notes.empty());
  EXPECT_NE(between.ranking.notes[0].find("stale"), std::string::npos);
  EXPECT_NE(between.ranking.notes[0].find("bridge"), std::string::npos);
  EXPECT_TRUE(between.has("old"));  // neither is sealed now, so neither yields
  EXPECT_TRUE(between.has("bridge"));
  DocumentFilter others;
  others.any_of = {"all"};
  EXPECT_TRUE(search(*defence, kQuery, 5, others).ranking.notes.empty());  // not theirs to know
  seal();
  const Found after = search(*defence, kQuery, 5);
  EXPECT_TRUE(after.ranking.notes.empty());
  EXPECT_EQ(after.documents.at(0), "bridge");
  EXPECT_FALSE(after.has("old"));
  EXPECT_NE(after.about("old").reason.find("1913 -> 1912"), std::string::npos);
}

TEST_F(FingerprintTest, ACopyWhoseEmbeddingWasMovedIsFoundByItsSketch) {
  std::vector<float> away(embedding(kQuery).size(), 0.0F);
  away[0] = 1;
  add("copy", replaced(kOriginal, "1912", "1999"), {.embedding = away});
  FingerprintOptions options;
  options.pool_size = 100;
  const Found found = search(*make(options), kQuery, 100);
  EXPECT_NE(found.about("copy").reason.find("1912 -> 1999"), std::string::npos) << found.about("copy").reason;
}

TEST_F(FingerprintTest, TextUnlikeAnythingSealedIsKeptPenalisedOrQuarantined) {
  std::vector<float> away(embedding(kQuery).size(), 0.0F);
  away[0] = 1;
  const auto made = *read_seal(*store_, "default");
  FingerprintOptions options;
  options.pool_size = 100;
  options.unlike_p = 0.1;
  const auto at = [&](UnlikePolicy policy) {
    options.unlike = policy;
    return search(*make(options), "far far away", 100);
  };
  add("far", "far far away", {.embedding = embedding("far far away")});
  const Found kept = at(UnlikePolicy::kKeep);
  EXPECT_EQ(kept.documents.at(0), "far");
  double p = 0;
  double nearest = 0;
  for (const auto& [name, value] : kept.about("far").measures) {
    if (name == "p_value") p = value;
    if (name == "cosine") nearest = value;
  }
  // By the definition: the share of sealed passages that lie at least as far from their nearest sealed neighbour.
  double count = 1;
  for (const float value : made->calibration.nearest_cosine) count += static_cast<double>(value) <= nearest ? 1 : 0;
  EXPECT_NEAR(p, count / static_cast<double>(made->calibration.nearest_cosine.size() + 1), 1e-12);
  ASSERT_LT(p, 0.1);
  const Found moved = at(UnlikePolicy::kPenalty);
  const auto place = std::find(moved.documents.begin(), moved.documents.end(), "far");
  ASSERT_NE(place, moved.documents.end());
  EXPECT_NEAR(moved.scores[static_cast<std::size_t>(place - moved.documents.begin())], kept.scores[0] - options.penalty,
              1e-6);
  const Found without = at(UnlikePolicy::kQuarantine);
  EXPECT_FALSE(without.has("far"));
  EXPECT_NE(without.about("far").reason.find("quarantined"), std::string::npos);
}

TEST_F(FingerprintTest, TextsWithoutWordsAndSingleWordsAreCopiesOfTheirEqualsOnly) {
  add("empty", "", {.trusted = true});
  add("one", "heron", {.trusted = true});
  seal();
  add("empty too", " \u200B ", {.embedding = embedding("heron")});
  add("one too", "Heron", {.embedding = embedding("heron")});
  add("other one", "otter", {.embedding = embedding("heron")});
  const Found found = search(*make(), "heron", 5);
  EXPECT_FALSE(found.has("empty too"));
  EXPECT_FALSE(found.has("one too"));
  EXPECT_TRUE(found.has("other one"));
}

TEST_F(FingerprintTest, ComparesTextsWhereThereAreNoEmbeddings) {
  PassageCandidate copy;
  copy.chunk = 999'999;  // not in the store: no row either
  copy.document = "copy";
  copy.text = UntrustedText(replaced(kOriginal, "1912", "1921"));
  PassageCandidate other = copy;
  other.chunk = 999'998;
  other.document = "other";
  other.text = UntrustedText("something else");
  const std::vector<PassageCandidate> candidates = {copy, other};
  const auto ranking = make()->rank({}, candidates, 5, {});
  ASSERT_TRUE(ranking.ok()) << ranking.error().message;
  ASSERT_EQ(ranking->passages.size(), 1U);
  EXPECT_EQ(ranking->passages[0].candidate, 1U);
  EXPECT_TRUE(make()->rank({}, {}, 5, {})->passages.empty());
}

TEST_F(FingerprintTest, AnEmbeddingThatIsNotFiniteIsAnErrorThatNamesThePassage) {
  PassageCandidate bad;
  bad.chunk = 999'999;
  bad.document = "bad";
  bad.embedding = embedding("x");
  bad.embedding[3] = std::numeric_limits<float>::quiet_NaN();
  const auto ranking = make()->rank({}, std::span(&bad, 1), 5, {});
  ASSERT_FALSE(ranking.ok());
  EXPECT_EQ(ranking.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(ranking.error().message.find("999999"), std::string::npos);
  DefenceQuery query;
  query.embedding = {std::numeric_limits<float>::infinity()};
  EXPECT_FALSE(make()->rank(query, {}, 5, {}).ok());
}

TEST_F(FingerprintTest, ASealThatWasTamperedWithOrIsAnothersIsRefused) {
  FingerprintOptions options;
  options.public_key = to_hex(key_.public_key());
  EXPECT_TRUE(Fingerprint::create(options, services_).ok());
  options.public_key = to_hex(SigningKey::generate().public_key());
  EXPECT_EQ(Fingerprint::create(options, services_).error().code, ErrorCode::kMismatch);
  options.public_key = "abc";
  EXPECT_EQ(Fingerprint::create(options, services_).error().code, ErrorCode::kInvalidOption);
  const auto defence = make();
  std::string list = **store_->setting("default", "seal_list_1");
  list.back() = ' ';
  ASSERT_TRUE(store_->set_setting("default", "seal_list_1", list).ok());
  EXPECT_EQ(Fingerprint::create({}, services_).error().code, ErrorCode::kCorrupt);
}

TEST_F(FingerprintTest, ATenantWithoutASealIsAnErrorNotAnOpenDoor) {
  add("x", prose(1), {.tenant = "other"});
  DefenceQuery query;
  query.tenant = "other";
  const auto ranking = make()->rank(query, {}, 5, {});
  ASSERT_FALSE(ranking.ok());
  EXPECT_EQ(ranking.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(ranking.error().message.find("casemate seal"), std::string::npos);
}

using FingerprintWithoutSeal = test::SealedFixture;

TEST_F(FingerprintWithoutSeal, CannotBeMadeAndNamesTheCommand) {
  add("t", prose(1), {.trusted = true});
  const auto made = create_defence({"fingerprint", "{}"}, services_);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(made.error().message.find("casemate seal"), std::string::npos);
  EXPECT_FALSE(create_defence({"fingerprint", "{}"}, {}).ok());
  EXPECT_EQ(create_defence({"fingerprint", "{pool_size: 0}"}, services_).error().code, ErrorCode::kInvalidOption);
  EXPECT_EQ(create_defence({"fingerprint", "{unlike: maybe}"}, services_).error().code, ErrorCode::kInvalidOption);
}

}  // namespace
}  // namespace casemate
