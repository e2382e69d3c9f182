#include "casemate/defend/seal.h"

#include "casemate/text/shingles.h"
#include "defend/seal_record.h"
#include "sealed_fixture.h"

namespace casemate {
namespace {

class Sealing : public test::SealedFixture {
 protected:
  void SetUp() override {
    SealedFixture::SetUp();
    std::vector<NewDocument> all;
    for (std::uint64_t i = 0; i < 6; ++i) all.push_back(document("t" + std::to_string(i), prose(i), {.trusted = true}));
    all.push_back(document("u", prose(100), {}));
    add_all(all);
  }
  std::string setting(const std::string& key, const std::string& tenant = "default") {
    const auto value = store_->setting(tenant, key);
    return value.ok() && *value ? **value : "";
  }
};

TEST_F(Sealing, CoversTrustedDocumentsAndHolds) {
  const auto made = try_seal();
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_EQ(made->version, 1);
  EXPECT_EQ(made->documents.size(), 6U);
  EXPECT_EQ(made->passages, 6);
  const auto read = read_seal(*store_, "default", key_.public_key());
  ASSERT_TRUE(read.ok() && *read);
  EXPECT_EQ((*read)->root, made->root);
  EXPECT_EQ((*read)->calibration.nearest_cosine, made->calibration.nearest_cosine);
  const auto check = check_seal(*store_, **read, pool_);
  ASSERT_TRUE(check.ok());
  EXPECT_TRUE(check->holds());
}

TEST_F(Sealing, CalibratesByTheNearestOtherSealedPassage) {
  const auto made = try_seal();
  ASSERT_TRUE(made.ok());
  std::vector<float> expected;  // by brute force over all pairs
  for (std::uint64_t i = 0; i < 6; ++i) {
    const auto a = embedding(prose(i));
    double best = -2;
    for (std::uint64_t j = 0; j < 6; ++j) {
      const auto b = embedding(prose(j));
      double dot = 0;
      for (std::size_t k = 0; k < a.size(); ++k) dot += static_cast<double>(a[k]) * static_cast<double>(b[k]);
      if (i != j) best = std::max(best, dot);
    }
    expected.push_back(static_cast<float>(best));
  }
  std::sort(expected.begin(), expected.end());
  ASSERT_EQ(made->calibration.nearest_cosine.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(made->calibration.nearest_cosine[i], expected[i], 1e-5);
  EXPECT_EQ(made->calibration.best_jaccard, std::vector<float>(6, 0.0F));
}

TEST_F(Sealing, AnyChangedByteIsRefused) {
  seal();
  const SealRecord good{setting("seal"), setting("seal_list_1")};
  ASSERT_TRUE(read_record(good, "default", {}).ok());
  for (std::string SealRecord::*part : {&SealRecord::statement, &SealRecord::list}) {
    ASSERT_GT((good.*part).size(), 300U);
    for (std::size_t i = 0; i < (good.*part).size() * 8; ++i) {
      SealRecord bad = good;
      char& byte = (bad.*part)[i / 8];
      byte = static_cast<char>(byte ^ (1 << (i % 8)));
      ASSERT_FALSE(read_record(bad, "default", {}).ok()) << "bit " << i;
    }
    SealRecord longer = good;
    (longer.*part) += '\n';
    EXPECT_FALSE(read_record(longer, "default", {}).ok());
    SealRecord shorter = good;
    (shorter.*part).pop_back();
    EXPECT_FALSE(read_record(shorter, "default", {}).ok());
  }
  ASSERT_TRUE(store_->set_setting("default", "seal", good.statement + " ").ok());
  EXPECT_EQ(read_seal(*store_, "default").error().code, ErrorCode::kCorrupt);
}

TEST_F(Sealing, AnotherKeysSealIsAMismatchAndIsNotReplacedUnasked) {
  seal();
  const auto other = read_seal(*store_, "default", SigningKey::generate().public_key());
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().code, ErrorCode::kMismatch);
  key_ = SigningKey::generate();
  const auto again = try_seal();
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().code, ErrorCode::kPermission);
  const auto forced = try_seal("default", true);
  ASSERT_TRUE(forced.ok());
  EXPECT_EQ(forced->version, 2);
}

TEST_F(Sealing, ADamagedSealIsReplacedOnlyWhenAsked) {
  seal();
  ASSERT_TRUE(store_->set_setting("default", "seal", "damaged").ok());
  EXPECT_EQ(try_seal().error().code, ErrorCode::kCorrupt);
  EXPECT_TRUE(try_seal("default", true).ok());
  EXPECT_TRUE(read_seal(*store_, "default").ok());
}

TEST_F(Sealing, ASealCannotBeMovedToAnotherTenant) {
  add("x", prose(1), {.trusted = true, .tenant = "other"});
  seal();
  ASSERT_TRUE(store_->set_setting("other", "seal", setting("seal")).ok());
  ASSERT_TRUE(store_->set_setting("other", "seal_list_1", setting("seal_list_1")).ok());
  EXPECT_EQ(read_seal(*store_, "other").error().code, ErrorCode::kCorrupt);
}

TEST_F(Sealing, TellsWhatChangedWentAndCameSince) {
  seal();
  add("t1", prose(50), {.trusted = true});
  add("t2", prose(2));  // the same text, trusted no more
  remove("t3");
  add("t9", prose(60), {.trusted = true});
  const auto check = check_seal(*store_, **read_seal(*store_, "default"), pool_);
  ASSERT_TRUE(check.ok());
  EXPECT_EQ(check->changed, (std::vector<std::string>{"t1", "t2"}));
  EXPECT_EQ(check->missing, std::vector<std::string>{"t3"});
  EXPECT_EQ(check->unsealed, std::vector<std::string>{"t9"});
  const auto again = try_seal();
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->version, 2);
  EXPECT_TRUE(check_seal(*store_, *again, pool_)->holds());
}

TEST_F(Sealing, ARecordThatClaimsTheSealedContentDoesNotHideAnotherText) {
  seal();
  NewDocument forged = document("t1", prose(1), {.trusted = true});
  forged.chunks[0].text = UntrustedText("another text under the same content hash");
  forged.labels = {"x"};  // the store replaces what differs
  ASSERT_TRUE(store_->add_documents(std::span(&forged, 1)).ok());
  const auto check = check_seal(*store_, **read_seal(*store_, "default"), pool_);
  ASSERT_TRUE(check.ok());
  EXPECT_EQ(check->changed, std::vector<std::string>{"t1"});
}

TEST_F(Sealing, NoTrustedDocumentIsAnErrorThatNamesTheCommand) {
  const auto made = try_seal("nobody");
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, ErrorCode::kNotFound);
  EXPECT_NE(made.error().message.find("--trusted"), std::string::npos);
  EXPECT_FALSE(read_seal(*store_, "nobody")->has_value());
}

TEST_F(Sealing, TenantsHaveSecretsOfTheirOwn) {
  add("x", prose(0), {.trusted = true, .tenant = "other"});
  seal();
  seal("other");
  const auto key_of = [&](const std::string& tenant) {
    const std::string bytes = *from_hex(setting("sketch_key", tenant));
    ShingleKey key{};
    std::copy(bytes.begin(), bytes.end(), key.begin());
    return key;
  };
  const auto words = comparison_words(comparison_text(prose(0)));
  const ShingleKey a = key_of("default");
  const ShingleKey b = key_of("other");
  EXPECT_LT(estimated_jaccard(min_hash(shingles(words, a), a), min_hash(shingles(words, b), b)), 0.2);
  EXPECT_NE((*read_seal(*store_, "default"))->sketch_key_id, (*read_seal(*store_, "other"))->sketch_key_id);
}

TEST_F(Sealing, ALostDamagedOrOtherSecretForSketchesIsToldAndRepaired) {
  seal();
  const std::string sealed = setting("sketch_key");
  const auto repair = [&] {
    SealOptions options;
    options.repair = true;
    return seal_documents(*store_, key_, options, pool_, Progress::none(), {});
  };
  EXPECT_EQ(repair().error().code, ErrorCode::kInvalidArgument);  // nothing to repair
  std::int64_t version = 1;
  const std::vector<std::pair<std::string, std::string>> faults = {
      {"not hexadecimal", "is damaged"}, {std::string(sealed.size(), 'a'), "is not the sealed one"}};
  for (const auto& [secret, told] : faults) {
    ASSERT_TRUE(store_->set_setting("default", "sketch_key", secret).ok());
    const auto check = check_seal(*store_, **read_seal(*store_, "default"), pool_);
    ASSERT_FALSE(check.ok()) << secret;
    EXPECT_EQ(check.error().code, ErrorCode::kCorrupt);
    EXPECT_NE(check.error().message.find(told), std::string::npos) << check.error().message;
    EXPECT_NE(check.error().message.find("--repair"), std::string::npos) << check.error().message;
    const auto repaired = repair();
    ASSERT_TRUE(repaired.ok()) << repaired.error().message;
    EXPECT_EQ(repaired->version, ++version);
    EXPECT_NE(setting("sketch_key"), sealed);
    EXPECT_TRUE(check_seal(*store_, *repaired, pool_)->holds());
    EXPECT_TRUE(search(*make(), prose(1), 3).has("t1"));
  }
}

TEST_F(Sealing, ARepairSealsNothingThatWasNotSealed) {
  seal();
  ASSERT_TRUE(store_->set_setting("default", "sketch_key", "gone").ok());
  EXPECT_EQ(try_seal().error().code, ErrorCode::kCorrupt);  // sealing anew is no repair
  SealOptions options;
  options.repair = true;
  const auto repair = [&](const SigningKey& key) {
    return seal_documents(*store_, key, options, pool_, Progress::none(), {});
  };
  const auto other = repair(SigningKey::generate());
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().code, ErrorCode::kPermission);
  add("t1", prose(50), {.trusted = true});
  const auto changed = repair(key_);
  ASSERT_FALSE(changed.ok());
  EXPECT_EQ(changed.error().code, ErrorCode::kMismatch);
  EXPECT_NE(changed.error().message.find("t1"), std::string::npos) << changed.error().message;
  EXPECT_EQ(setting("sketch_key"), "gone");
  EXPECT_TRUE(try_seal("default", true).ok());  // knowingly
  EXPECT_EQ(repair(key_).error().code, ErrorCode::kInvalidArgument);
  options.tenant = "nobody";
  EXPECT_EQ(repair(key_).error().code, ErrorCode::kNotFound);
}

TEST_F(Sealing, EmptyTextsAndEqualTextsCanBeSealed) {
  add("empty", "", {.trusted = true});
  add("word", "heron", {.trusted = true});
  std::vector<NewDocument> same;
  for (int i = 0; i < 40; ++i) same.push_back(document("same" + std::to_string(i), prose(7), {.trusted = true}));
  add_all(same);
  const auto made = try_seal();
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_TRUE(check_seal(*store_, *made, pool_)->holds());
  // A passage whose nearest neighbours are all copies of it tells nothing about distance.
  EXPECT_LT(made->calibration.nearest_cosine.back(), 0.99F);
}

}  // namespace
}  // namespace casemate
