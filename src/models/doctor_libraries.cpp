#include <sqlite3.h>
#include <unicode/brkiter.h>
#include <unicode/uversion.h>

#include <dnnl.hpp>
#include <memory>
#include <string>

#include "models/doctor_checks.h"

namespace casemate {
namespace {

struct CloseDatabase {
  void operator()(sqlite3* database) const { sqlite3_close(database); }
};

DoctorItem check_sqlite() {
  DoctorItem item{"sqlite", DoctorStatus::kOk, std::string("SQLite ") + sqlite3_libversion(), {}};
  sqlite3* opened = nullptr;
  const int code = sqlite3_open_v2(":memory:", &opened, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
  const std::unique_ptr<sqlite3, CloseDatabase> database(opened);
  const bool indexed = code == SQLITE_OK && sqlite3_exec(opened, "CREATE VIRTUAL TABLE t USING fts5(text)", nullptr,
                                                         nullptr, nullptr) == SQLITE_OK;
  if (indexed) {
    item.detail += ", FTS5 works";
  } else {
    item.status = DoctorStatus::kFailed;
    item.detail += ", without FTS5: BM25 search cannot work";
    item.remedy = "install a SQLite that was built with FTS5 (Debian's libsqlite3-0 is)";
  }
  return item;
}

/// Number of words that ICU finds in `text`; -1 where it has no rules.
int count_words(const char* locale, const char* text) {
  UErrorCode code = U_ZERO_ERROR;
  const std::unique_ptr<icu::BreakIterator> words(icu::BreakIterator::createWordInstance(icu::Locale(locale), code));
  if (U_FAILURE(code) != 0 || !words) return -1;
  const icu::UnicodeString string = icu::UnicodeString::fromUTF8(text);
  words->setText(string);
  int count = 0;
  while (words->next() != icu::BreakIterator::DONE) {
    if (words->getRuleStatus() != UBRK_WORD_NONE) ++count;
  }
  return count;
}

DoctorItem check_icu() {
  UVersionInfo version;
  char shown[U_MAX_VERSION_STRING_LENGTH];
  u_getVersion(version);
  u_versionToString(version, shown);
  DoctorItem item{"icu", DoctorStatus::kOk, std::string("ICU ") + shown, {}};
  // "Hello world" in Thai is two words or more; without a dictionary it is one. "Beijing university" in Chinese is one
  // or two; without a dictionary each of its four characters is one.
  const int thai = count_words("th", "สวัสดีชาวโลก");
  const int chinese = count_words("zh", "北京大学");
  const bool works = thai >= 2 && chinese >= 1 && chinese <= 2;
  if (works) {
    item.detail += ", breaks Thai and Chinese into words";
  } else {
    item.status = thai < 0 || chinese < 0 ? DoctorStatus::kFailed : DoctorStatus::kWarning;
    item.detail += ", without its dictionaries: keyword search in Thai or Chinese will be poor";
    item.remedy = "install ICU with its full data (Debian's libicu has it)";
  }
  return item;
}

DoctorItem check_onednn() {
  const dnnl_version_t* version = dnnl_version();
  return {"onednn",
          DoctorStatus::kOk,
          "oneDNN " + std::to_string(version->major) + "." + std::to_string(version->minor) + "." +
              std::to_string(version->patch),
          {}};
}

}  // namespace

void check_libraries(std::vector<DoctorItem>& items) {
  items.push_back(check_sqlite());
  items.push_back(check_icu());
  items.push_back(check_onednn());
}

}  // namespace casemate
