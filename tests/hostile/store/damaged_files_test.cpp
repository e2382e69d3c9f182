#include <gmock/gmock.h>
#include <sqlite3.h>

#include <filesystem>
#include <functional>
#include <map>

#include "store/store_fixture.h"

namespace casemate::test {
namespace {

using ::testing::HasSubstr;

/// A store's files by name, relative to its folder.
using Files = std::map<std::string, std::string>;

Files read_files(const std::string& path) {
  Files files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(path)) {
    const std::string name = std::filesystem::relative(entry.path(), path).string();
    if (entry.is_regular_file() && name != "vault.lock" && !name.ends_with("-shm"))
      files[name] = value_of(read_file(entry.path().string()));
  }
  return files;
}

void write_files(const std::string& path, const Files& files) {
  std::filesystem::remove_all(path);
  std::filesystem::create_directories(path + "/segments");
  for (const auto& [name, data] : files) {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen((path + "/" + name).c_str(), "wb"),
                                                               std::fclose);
    ASSERT_EQ(std::fwrite(data.data(), 1, data.size(), file.get()), data.size());
  }
}

/// A store whose last batch is still in its log, as a killed process leaves it.
Files healthy_files(const std::string& path, const std::string& flavour) {
  const auto store = new_store(path);
  for (int i = 0; i < 3; ++i) {
    const std::string id = flavour + std::to_string(i);
    add(*store, {test_document("t", id, {"alpha " + id, "beta " + id, std::string(300, 'x') + id}),
                 test_document("u", id, {"secret " + id})});
  }
  const std::vector<std::string> ids = {flavour + "1"};
  EXPECT_EQ(value_of(store->delete_documents("t", ids)), 1);
  return read_files(path);  // while it is open, so that the log is there
}

std::string digits_of(const std::string& file) { return std::filesystem::path(file).filename().string(); }

/// Whatever was done to the files: no crash, no wrong vector, no text of another tenant or store, and an error names
/// a file. True where the damage was noticed (an error, a report, a failed check or a missing text).
bool expect_harmless(const std::string& path, const std::string& damaged) {
  bool noticed = false;
  for (const bool read_only : {true, false}) {
    StoreOptions options;
    options.read_only = read_only;
    options.busy_timeout_ms = 100;
    const auto store = Store::open(path, options);
    if (!store) {
      EXPECT_THAT(store.error().message, HasSubstr(damaged.starts_with("vault.db") ? "vault.db" : digits_of(damaged)));
      noticed = true;
      continue;
    }
    for (const DamagedSegment& segment : (*store)->open_report().damaged) {
      if (!damaged.starts_with("vault.db")) {
        EXPECT_EQ(segment.file, damaged);
      }
      noticed = true;
    }
    noticed = noticed || !(*store)->open_report().leftovers.empty();
    for (const std::string tenant : {"t", "u"}) {
      const auto snapshot = (*store)->snapshot(tenant);
      if (!snapshot) continue;
      for (const VectorBlock& block : (*snapshot)->blocks()) {
        const auto chunks = (*store)->chunks(tenant, block.chunk_ids);
        if (!chunks) continue;
        for (std::size_t i = 0; i < block.chunks; ++i) {
          if (!(*chunks)[i]) continue;
          const std::string& text = (*chunks)[i]->text.bytes();
          EXPECT_EQ(text.starts_with("secret"), tenant == "u") << "text of another tenant";
          const std::vector<float> row(block.rows.begin() + static_cast<std::ptrdiff_t>(i * kDimension),
                                       block.rows.begin() + static_cast<std::ptrdiff_t>((i + 1) * kDimension));
          EXPECT_EQ(row, test_embedding(text)) << "a wrong vector";
        }
      }
      const auto hits = (*store)->bm25(tenant, UntrustedText("alpha beta secret"), 100);
      if (!hits) {
        EXPECT_THAT(hits.error().message, HasSubstr("vault.db"));
      }
    }
    const auto report = (*store)->check();
    noticed = noticed || !report || !report->ok();
    if (!read_only) {
      const std::vector<NewDocument> more = {test_document("t", "more", {"more"})};
      const auto added = (*store)->add_documents(more);
      if (!added) {
        EXPECT_THAT(added.error().message, HasSubstr("vault.db"));
      }
    }
  }
  return noticed;
}

class DamagedFiles : public ::testing::Test {
 protected:
  DamagedFiles()
      : files_(healthy_files(folder_.path("healthy"), "doc")),
        foreign_(healthy_files(folder_.path("foreign"), "alien")) {}

  bool damage(const std::string& name, const std::function<void(Files&)>& how) {
    Files files = files_;
    how(files);
    write_files(folder_.path("damaged"), files);
    return expect_harmless(folder_.path("damaged"), name);
  }
  std::vector<std::string> segments() const {
    std::vector<std::string> names;
    for (const auto& [name, data] : files_) {
      if (name.starts_with("segments/")) names.push_back(name);
    }
    return names;
  }

  TemporaryFolder folder_;
  Files files_;
  Files foreign_;
};

TEST_F(DamagedFiles, UndamagedOnesAreFine) {
  ASSERT_EQ(segments().size(), 6U);
  ASSERT_GT(files_.at("vault.db-wal").size(), 4096U);
  EXPECT_FALSE(damage("vault.db", [](Files&) {}));
}

TEST_F(DamagedFiles, SegmentsWithAnyFlippedBitAreReportedByName) {
  const std::string name = segments()[2];
  for (std::size_t at = 0; at < files_.at(name).size(); at += 7) {
    EXPECT_TRUE(
        damage(name, [&](Files& files) { files[name][at] = static_cast<char>(files[name][at] ^ (1 << (at % 8))); }))
        << "byte " << at;
    if (HasFailure()) return;
  }
}

TEST_F(DamagedFiles, SegmentsCutOrGrownAreReportedByName) {
  const std::string name = segments()[0];
  const std::size_t size = files_.at(name).size();
  for (const std::size_t left : {std::size_t{0}, std::size_t{1}, std::size_t{7}, std::size_t{100}, std::size_t{192},
                                 std::size_t{200}, size / 2, size - 33, size - 32, size - 1}) {
    EXPECT_TRUE(damage(name, [&](Files& files) { files[name].resize(left); })) << left;
  }
  EXPECT_TRUE(damage(name, [&](Files& files) { files[name] += '\0'; }));
  EXPECT_TRUE(damage(name, [&](Files& files) { files[name].append(100'000, 'x'); }));
}

TEST_F(DamagedFiles, ForeignAndMissingSegmentsAreReportedByName) {
  const std::vector<std::string> names = segments();
  for (const std::string& name : names) {
    EXPECT_TRUE(damage(name, [&](Files& files) { files[name] = foreign_.at(name); })) << "of another store";
    EXPECT_TRUE(damage(name, [&](Files& files) { files.erase(name); })) << "missing";
    EXPECT_TRUE(damage(name, [&](Files& files) { files[name] = "\x89PNG\r\n\x1a\n" + std::string(500, '\0'); }))
        << "a picture";
    for (const std::string& other : names) {
      if (other == name) continue;
      EXPECT_TRUE(damage(name, [&](Files& files) { files[name] = files_.at(other); })) << other << " in its place";
    }
  }
}

TEST_F(DamagedFiles, DatabasesCutEmptyForeignOrMissingAreHarmless) {
  for (const std::string name : {"vault.db", "vault.db-wal"}) {
    const std::size_t size = files_.at(name).size();
    for (const std::size_t left : {std::size_t{0}, std::size_t{1}, std::size_t{31}, std::size_t{99}, std::size_t{4096},
                                   size / 2, size - 4096, size - 1}) {
      damage(name, [&](Files& files) { files[name].resize(left); });
    }
    damage(name, [&](Files& files) { files[name] = "\x89PNG\r\n\x1a\n" + std::string(9000, '\0'); });
    damage(name, [&](Files& files) { files[name] = foreign_.at(name); });
    damage(name, [&](Files& files) { files.erase(name); });
    damage(name, [&](Files& files) { files[name] = std::string(20'000, '\xff'); });
    if (HasFailure()) return;
  }
}

TEST_F(DamagedFiles, DatabasesWithFlippedBitsAreHarmless) {
  // With the log gone into the database, so that damage to its pages counts.
  write_files(folder_.path("healthy"), files_);
  { const auto store = open_store(folder_.path("healthy")); }
  files_ = read_files(folder_.path("healthy"));
  RandomStream random(3, "bit-flips");
  const std::size_t size = files_.at("vault.db").size();
  for (int round = 0; round < 300; ++round) {
    const std::uint64_t position = round < 100 ? static_cast<std::uint64_t>(round) : random.below(size);
    SCOPED_TRACE(position);
    damage("vault.db", [&](Files& files) {
      char& byte = files["vault.db"][position];
      byte = static_cast<char>(byte ^ (1 << random.below(8)));
    });
    if (HasFailure()) return;
  }
}

TEST_F(DamagedFiles, LogsWithFlippedBitsAreHarmless) {
  RandomStream random(4, "bit-flips");
  for (int round = 0; round < 100; ++round) {
    const std::uint64_t position =
        round < 32 ? static_cast<std::uint64_t>(round) : random.below(files_.at("vault.db-wal").size());
    SCOPED_TRACE(position);
    damage("vault.db-wal", [&](Files& files) {
      char& byte = files["vault.db-wal"][position];
      byte = static_cast<char>(byte ^ (1 << random.below(8)));
    });
    if (HasFailure()) return;
  }
}

TEST_F(DamagedFiles, TextChangedInTheDatabaseIsNoticedWhenItIsRead) {
  write_files(folder_.path("healthy"), files_);
  ChunkId chunk = 0;
  {
    const auto store = open_store(folder_.path("healthy"));
    chunk = value_of(store->document("t", "doc0")).first_chunk;
  }
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open((folder_.path("healthy") + "/vault.db").c_str(), &database), SQLITE_OK);
  const std::string sql = "UPDATE chunk SET text = CAST('planted' AS BLOB) WHERE id = " + std::to_string(chunk) +
                          "; UPDATE document SET title = CAST('x' AS BLOB) WHERE id = 'doc2'";
  ASSERT_EQ(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(database);
  const auto store = open_store(folder_.path("healthy"));
  const std::vector<ChunkId> ids = {chunk, chunk + 1};
  const auto chunks = value_of(store->chunks("t", ids));
  EXPECT_EQ(chunks[0].error().code, ErrorCode::kCorrupt);
  EXPECT_THAT(chunks[0].error().message, HasSubstr("vault.db"));
  EXPECT_TRUE(chunks[1].ok());
  EXPECT_EQ(store->document("t", "doc2").error().code, ErrorCode::kCorrupt);
  EXPECT_FALSE(value_of(store->check()).ok());
  // The damaged text can still be deleted, and the full-text index comes out right.
  const std::vector<std::string> names = {"doc0"};
  EXPECT_EQ(value_of(store->delete_documents("t", names)), 1);
  EXPECT_TRUE(value_of(store->bm25("t", UntrustedText("alpha doc0 planted"), 10)).size() <= 1);
  for (const Bm25Hit& hit : value_of(store->bm25("t", UntrustedText("alpha doc0 planted"), 10)))
    EXPECT_NE(hit.chunk, chunk);
}

}  // namespace
}  // namespace casemate::test
