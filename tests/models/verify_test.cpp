#include "models/models_fixture.h"

namespace casemate::test {
namespace {

class Verify : public ::testing::Test {
 protected:
  void put(const std::string& name, const std::string& bytes) const {
    write_bytes(folder_.path("models/m/" + name), bytes);
  }
  void put_all() const {
    put("a", "alpha");
    put("b", "beta");
  }
  [[nodiscard]] StoredModel info() const { return *models_.find("m"); }

  TemporaryFolder folder_;
  ModelStore models_ = open_store(folder_.path("models"), model_yaml("m", file_yaml("a", "alpha", hub_yaml("a")) +
                                                                              file_yaml("b", "beta", hub_yaml("b"))));
};

TEST_F(Verify, StatesFollowWhatIsThere) {
  EXPECT_EQ(info().state, ModelState::kAbsent);
  EXPECT_EQ(models_.path_of("m").error().code, ErrorCode::kUnavailable);
  EXPECT_NE(models_.path_of("m").error().message.find("casemate models pull m"), std::string::npos);
  put("a.part", "al");
  EXPECT_EQ(info().state, ModelState::kPartial);
  put("a", "alpha");
  EXPECT_EQ(info().state, ModelState::kPartial);
  EXPECT_EQ(info().detail, "1 of 2 files are not complete, the first is b");
  put("b", "bet");
  EXPECT_EQ(info().state, ModelState::kDamaged);
  EXPECT_EQ(info().detail, "b has 3 bytes, expected 4 bytes");
  EXPECT_EQ(models_.path_of("m").error().code, ErrorCode::kCorrupt);
  put("b", "beta");
  EXPECT_EQ(info().state, ModelState::kPresent);
  EXPECT_EQ(info().remedy, "");
  EXPECT_EQ(*models_.path_of("m"), folder_.path("models/m"));
}

TEST_F(Verify, EachBadFileIsReported) {
  put_all();
  EXPECT_TRUE(models_.verify("m")->ok());
  put("a", "alphX");
  std::filesystem::remove(folder_.path("models/m/b"));
  auto report = models_.verify("m");
  ASSERT_TRUE(report.ok());
  EXPECT_FALSE(report->ok());
  ASSERT_EQ(report->files.size(), 2U);
  EXPECT_EQ(file_check_name(report->files[0].state), "wrong hash");
  EXPECT_EQ(report->files[0].expected, hex_sha256("alpha"));
  EXPECT_EQ(report->files[0].found, hex_sha256("alphX"));
  EXPECT_EQ(file_check_name(report->files[1].state), "missing");
  put("b", "too long");
  std::filesystem::remove(folder_.path("models/m/a"));
  std::filesystem::create_directories(folder_.path("models/m/a"));
  report = models_.verify("m");
  EXPECT_EQ(file_check_name(report->files[0].state), "unreadable");
  EXPECT_EQ(file_check_name(report->files[1].state), "wrong size");
}

TEST_F(Verify, AStopIsHeard) {
  put_all();
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(models_.verify("m", Progress::none(), stop.get_token()).error().code, ErrorCode::kCancelled);
}

TEST_F(Verify, UnknownNamesGetTheNearestOne) {
  EXPECT_EQ(models_.find("n").error().message, "there is no model n (known: m)");
  EXPECT_EQ(models_.find("../m").error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(ModelStore::open("", {}).error().code, ErrorCode::kInvalidArgument);
}

TEST_F(Verify, ARootThatIsAFileIsAnError) {
  write_bytes(folder_.path("models"), "a file");
  EXPECT_FALSE(models_.pull("m", {}, Progress::none()).ok());
}

}  // namespace
}  // namespace casemate::test
