#include "disclosure_budget.h"

#include <sqlite3.h>

#include "sqlite_file.h"

namespace casemate::server {
namespace {

/// Bounds the file that one day's keys and documents make.
constexpr std::int64_t kMostEntries = 1'000'000;

// A clock that is set back gives nobody a new day: the day is the latest that was ever seen.
constexpr char kSchema[] =
    "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
    "CREATE TABLE IF NOT EXISTS day(one INTEGER PRIMARY KEY CHECK (one = 1), number INTEGER NOT NULL, entries "
    "INTEGER NOT NULL); INSERT OR IGNORE INTO day VALUES(1, 0, 0);"
    "CREATE TABLE IF NOT EXISTS disclosed(key TEXT NOT NULL, document TEXT NOT NULL, characters INTEGER NOT NULL, "
    "PRIMARY KEY(key, document)) WITHOUT ROWID;";

/// Rolls back unless it was committed.
class Writing {
 public:
  explicit Writing(const SqliteFile& file) : file_(file), begun_(file.execute("BEGIN IMMEDIATE")) {}
  ~Writing() {
    if (begun_ && !done_) (void)file_.execute("ROLLBACK");
  }
  Writing(const Writing&) = delete;
  Writing& operator=(const Writing&) = delete;
  [[nodiscard]] const Status& begun() const { return begun_; }
  [[nodiscard]] Status commit() {
    const Status committed = file_.execute("COMMIT");
    done_ = committed.ok();
    return committed;
  }

 private:
  const SqliteFile& file_;
  Status begun_;
  bool done_ = false;
};

}  // namespace

DisclosureBudget::DisclosureBudget(std::unique_ptr<SqliteFile> file, std::size_t characters, const Clock& clock)
    : file_(std::move(file)), characters_(characters), clock_(clock) {}
DisclosureBudget::~DisclosureBudget() = default;

Result<std::unique_ptr<DisclosureBudget>> DisclosureBudget::open(const std::string& path, std::size_t characters,
                                                                 const Clock& clock) {
  auto file = SqliteFile::open(path, "what was disclosed", kSchema);
  if (!file) return file.error();
  return std::unique_ptr<DisclosureBudget>(new DisclosureBudget(*std::move(file), characters, clock));
}

bool DisclosureBudget::take(const std::string& key, const std::string& document, std::size_t characters) {
  const std::lock_guard lock(mutex_);
  const Result<bool> counted = count(key, document, characters);
  return counted.ok() && *counted;
}

Result<bool> DisclosureBudget::count(const std::string& key, const std::string& document, std::size_t characters) {
  if (characters > characters_) return false;
  Writing writing(*file_);
  if (!writing.begun()) return writing.begun().error();
  if (Status begun = begin_day(); !begun) return begun.error();
  auto seen = file_->prepare("SELECT characters FROM disclosed WHERE key = ?1 AND document = ?2");
  if (!seen) return seen.error();
  SqliteFile::bind(*seen, 1, std::string_view(key));
  SqliteFile::bind(*seen, 2, std::string_view(document));
  const int found = sqlite3_step(seen->get());
  if (found != SQLITE_ROW && found != SQLITE_DONE) return file_->failure("read what was disclosed");
  const bool known = found == SQLITE_ROW;
  const std::int64_t before = known ? sqlite3_column_int64(seen->get(), 0) : 0;
  seen->reset();
  if (before + static_cast<std::int64_t>(characters) > static_cast<std::int64_t>(characters_)) return false;
  if (!known) {
    if (Status made = file_->execute("UPDATE day SET entries = entries + 1"); !made) return made.error();
    auto entries = file_->prepare("SELECT entries FROM day");
    if (!entries) return entries.error();
    if (sqlite3_step(entries->get()) != SQLITE_ROW) return file_->failure("read what was disclosed");
    if (sqlite3_column_int64(entries->get(), 0) > kMostEntries) return false;
  }
  auto add = file_->prepare("INSERT OR REPLACE INTO disclosed VALUES(?1, ?2, ?3)");
  if (!add) return add.error();
  SqliteFile::bind(*add, 1, std::string_view(key));
  SqliteFile::bind(*add, 2, std::string_view(document));
  SqliteFile::bind(*add, 3, before + static_cast<std::int64_t>(characters));
  if (sqlite3_step(add->get()) != SQLITE_DONE) return file_->failure("count what was disclosed");
  add->reset();
  if (Status committed = writing.commit(); !committed) return committed.error();
  return true;
}

Status DisclosureBudget::begin_day() {
  auto day = file_->prepare("UPDATE day SET number = ?1, entries = 0 WHERE number < ?1");
  if (!day) return day.error();
  SqliteFile::bind(*day, 1, clock_.unix_seconds() / 86'400);
  if (sqlite3_step(day->get()) != SQLITE_DONE) return file_->failure("begin a day");
  if (sqlite3_changes(file_->handle()) == 0) return {};
  return file_->execute("DELETE FROM disclosed");
}

}  // namespace casemate::server
