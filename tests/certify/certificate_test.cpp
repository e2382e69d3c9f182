#include "casemate/certify/certificate.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "casemate/certify/make_certificate.h"
#include "casemate/certify/verify.h"
#include "certify/samples.h"
#include "support/paths.h"

namespace casemate {
namespace {

using test::key_of;
using test::sample_files;

/// True where the file is refused, one way or the other.
bool refused(const std::string& file) {
  const auto found = verify_certificate(file);
  return !found.ok() || !found->holds();
}

TEST(Certificate, OfEachKindHoldsAndReadsBackTheSame) {
  ASSERT_EQ(sample_files().size(), 6U);
  for (const auto& [name, file] : sample_files()) {
    const auto found = verify_certificate(file, {key_of('k').public_key()});
    ASSERT_TRUE(found.ok()) << name << ": " << found.error().message;
    for (const CertificateCheck& check : found->checks) {
      EXPECT_TRUE(check.holds) << name << ": " << check.what << " (" << check.detail << ")";
    }
    EXPECT_TRUE(found->holds());
    EXPECT_EQ(found->not_checked.at(0), "that the model produced these numbers (use --replay)");
    const auto again = write_certificate(found->certificate, key_of('k'));
    ASSERT_TRUE(again.ok()) << again.error().message;
    EXPECT_EQ(*again, file) << name;
    EXPECT_EQ(found->certificate.retrieval.has_value(), name == "composed");
  }
}

TEST(Certificate, KeepsItsFormat) {
  for (const auto& [name, file] : sample_files()) {
    const std::string path = test::golden_path("certificates/" + name + ".json");
    if (std::getenv("CASEMATE_UPDATE_GOLDEN") != nullptr) std::ofstream(path, std::ios::binary) << file;
    std::ifstream stream(path, std::ios::binary);
    const std::string stored{std::istreambuf_iterator<char>(stream), {}};
    EXPECT_TRUE(file == stored) << path;
  }
}

TEST(Certificate, IsRefusedWithAnyByteChanged) {
  test::Dice dice(51);
  for (const auto& [name, file] : sample_files()) {
    for (std::size_t at = 0; at < file.size(); ++at) {
      std::string changed = file;
      changed[at] = static_cast<char>(changed[at] ^ (1 << dice.roll(0, 7)));
      ASSERT_TRUE(refused(changed)) << name << " byte " << at;
    }
  }
}

TEST(Certificate, IsRefusedWithBytesChangedRemovedOrAddedAnywhere) {
  test::Dice dice(52);
  const std::string pool = "0123456789abcdefABCDEF \n\t\"{}[]:,-.\\/u";
  int made = 0;
  for (int round = 0; round < 200; ++round) {
    for (const auto& [name, file] : sample_files()) {
      std::string changed = file;
      const auto at = static_cast<std::size_t>(dice.roll(0, static_cast<int>(file.size()) - 1));
      const char byte = pool[static_cast<std::size_t>(dice.roll(0, static_cast<int>(pool.size()) - 1))];
      const int how = dice.roll(0, 3);
      if (how == 0) changed[at] = byte;
      if (how == 1) changed.erase(at, 1);
      if (how == 2) changed.insert(at, 1, byte);
      if (how == 3) changed = changed.substr(0, at);
      if (changed == file) continue;
      ++made;
      ASSERT_TRUE(refused(changed)) << name << " byte " << at << " how " << how;
    }
  }
  EXPECT_GT(made, 1000);
}

TEST(Certificate, IsRefusedWhereItIsWrittenAnotherWay) {
  const std::string& file = sample_files().at("voting");
  const auto refuse = [](const std::string& other, const std::string& why) {
    const auto found = verify_certificate(other);
    ASSERT_FALSE(found.ok()) << other.substr(0, 60);
    EXPECT_EQ(found.error().code, ErrorCode::kInvalidInput);
    EXPECT_NE(found.error().message.find(why), std::string::npos) << found.error().message;
  };
  const std::string body = file.substr(8, file.find(",\"public_key\"") - 8);
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string changed = body;
    const std::size_t at = changed.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return sign_body(changed.replace(at, from.size(), to), key_of('k'));
  };
  EXPECT_EQ(with("\"answer\":\"B\"", "\"answer\":\"B\""), file);
  refuse(with("\"k_prime\":2", "\"k_prime\":2,\"k_prime\":2"), "canonical");
  refuse(with("\"k_prime\":2", "\"k_prime\":9,\"k_prime\":2"), "canonical");
  refuse(with("\"k_prime\":2", "\"k_prime\": 2"), "canonical");
  refuse(with("\"k_prime\":2", "\"k_prime\":2.0"), "expected an integer");
  refuse(with("\"k_prime\":2", "\"k_prime\":2e0"), "canonical");
  refuse(with("\"k_prime\":2", "\"k_prime\":02"), "JSON");
  refuse(with("\"k_prime\":2", "\"k_prime\":\"2\""), "expected an integer");
  refuse(with("\"k_prime\":2", "\"k_prime\":0"), "[1, 10]");
  refuse(with("\"k_prime\":2", "\"k_prime\":-1"), "[1, 10]");
  refuse(with("\"k_prime\":2", "\"k_prime\":11"), "[1, 10]");
  refuse(with("\"k_prime\":2", "\"k_prime\":null"), "expected an integer");
  refuse(with("\"k_prime\":2", "\"k_prime\":2,\"k_prime2\":1"), "unknown field k_prime2");
  refuse(with("\"k_prime\":2,", ""), "k_prime is missing");
  refuse(with("\"k_prime\":2", "\"k_prime\":99999999999999999999"), "canonical");
  refuse(with("\"answer\":\"B\"", "\"answer\":\"\\u0042\""), "canonical");
  refuse(with("\"answer\":\"B\"", "\"answer\":\"\xff\""), "JSON");
  refuse(with("\"method\":\"voting\"", "\"method\":\"keyword\""), "evidence");
  refuse(with("\"method\":\"voting\"", "\"method\":\"none\""), "method");
  refuse(with("Whether the answer is right.", "Nothing."), "do not follow");
  refuse(with("If at most 2", "If at most 5"), "does not follow");
  EXPECT_EQ(verify_certificate(with("\"casemate_certificate\":2", "\"casemate_certificate\":1")).error().code,
            ErrorCode::kMismatch);
}

TEST(Certificate, HostileFilesGiveAnError) {
  const auto code = [](const std::string& file) {
    const auto found = verify_certificate(file);
    EXPECT_FALSE(found.ok());
    return found.ok() ? ErrorCode::kIo : found.error().code;
  };
  for (const std::string& file :
       {std::string(), std::string("\n"), std::string("{}\n"), std::string("null\n"), std::string("[]\n"),
        std::string("{\"body\":{},\"public_key\":1,\"signature\":2}\n"), std::string(1000, '\0'),
        std::string("\xef\xbb\xbf{}\n"), std::string(2'000'000, '[') + "\n", std::string(2'000'000, '{') + "\n",
        "{\"body\":" + std::string(500'000, '[') + std::string(500'000, ']') + "}\n",
        std::string(1'000'000, '"') + "\n"}) {
    EXPECT_EQ(code(file), ErrorCode::kInvalidInput) << file.substr(0, 20);
  }
  EXPECT_EQ(code(std::string(kMaxCertificateBytes + 1, ' ')), ErrorCode::kLimit);
  EXPECT_EQ(code("{\"body\":[" + std::string(2'000'000, '1') + "],\"public_key\":1,\"signature\":2}\n"),
            ErrorCode::kInvalidInput);
}

TEST(Certificate, ThatClaimsNothingOrDoesNotFitIsNotWritten) {
  Certificate nothing = test::samples().at("voting");
  nothing.k_prime = 0;
  EXPECT_FALSE(write_certificate(nothing, key_of('k')).ok());
  Certificate misfit = test::samples().at("voting");
  misfit.passages.pop_back();
  EXPECT_FALSE(write_certificate(misfit, key_of('k')).ok());
  Certificate bytes = test::samples().at("keyword");
  std::get<KeywordEvidence>(bytes.evidence).kept[0] = "\xff";
  const auto refused_bytes = write_certificate(bytes, key_of('k'));
  ASSERT_FALSE(refused_bytes.ok());
  EXPECT_EQ(refused_bytes.error().code, ErrorCode::kInvalidArgument);
}

TEST(Certificate, LeavesOutARetrievalPartThatDoesNotCompose) {
  Certificate weak = test::samples().at("composed");
  weak.retrieval->changed_at_most = 3;
  weak.retrieval->planted_at_most = 3;
  const auto file = write_certificate(weak, key_of('k'));
  ASSERT_TRUE(file.ok());
  EXPECT_FALSE(read_certificate(*file)->certificate.retrieval.has_value());
}

TEST(Certificate, SaysWhatGroupsOfSeveralPassagesDoNotCover) {
  Certificate single = test::samples().at("voting");
  EXPECT_NE(claim_of(single).find("inserted"), std::string::npos);
  Certificate grouped = single;
  grouped.group_size = 2;
  EXPECT_EQ(claim_of(grouped).find("inserted"), std::string::npos);
  EXPECT_NE(not_covered_by(grouped).at(2).find("not the answer without the planted passage"), std::string::npos);
  single.positions_in_prompt = true;
  EXPECT_EQ(claim_of(single).find("inserted"), std::string::npos);
}

TEST(Certificate, TextsThatAreNoUtf8AreMadeSoBeforeTheyAreHashed) {
  Certificate certificate = test::samples().at("keyword");
  certificate.question = CertifiedQuestion::of(UntrustedText("caf\xe9?"));
  const auto file = write_certificate(certificate, key_of('k'));
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_FALSE(refused(*file));
  certificate.question = CertifiedQuestion::of(UntrustedText("secret"), true);
  const auto withheld = write_certificate(certificate, key_of('k'));
  ASSERT_TRUE(withheld.ok());
  EXPECT_EQ(withheld->find("secret"), std::string::npos);
  EXPECT_FALSE(refused(*withheld));
}

}  // namespace
}  // namespace casemate
