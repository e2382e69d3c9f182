#include "fts_tokenizer.h"

#include <sqlite3.h>

#include "failure.h"
#include "word_segmenter.h"

// FTS5's interface is in C: handles are `Fts5Tokenizer*`, results are codes, and no exception may pass.
namespace casemate {
namespace {

using TokenCallback = int (*)(void* context, int flags, const char* token, int size, int begin, int end);

int create_tokenizer(void* /*context*/, const char** /*arguments*/, int /*count*/, Fts5Tokenizer** out) {
  try {
    *out = reinterpret_cast<Fts5Tokenizer*>(std::make_unique<WordSegmenter>().release());
    return SQLITE_OK;
  } catch (...) {
    return SQLITE_ERROR;
  }
}

void delete_tokenizer(Fts5Tokenizer* tokenizer) {
  const std::unique_ptr<WordSegmenter> owned(reinterpret_cast<WordSegmenter*>(tokenizer));
}

int tokenize(Fts5Tokenizer* tokenizer, void* context, int flags, const char* text, int size, TokenCallback token) {
  if (text == nullptr || size <= 0) return SQLITE_OK;
  if ((flags & FTS5_TOKENIZE_QUERY) != 0) return token(context, 0, text, size, 0, size);
  try {
    int code = SQLITE_OK;
    reinterpret_cast<WordSegmenter*>(tokenizer)->segment(
        std::string_view(text, static_cast<std::size_t>(size)),
        [&](std::string_view word, std::size_t begin, std::size_t end) {
          code = token(context, 0, word.data(), static_cast<int>(word.size()), static_cast<int>(begin),
                       static_cast<int>(end));
          return code == SQLITE_OK;
        });
    return code;
  } catch (...) {
    return SQLITE_NOMEM;
  }
}

fts5_api* find_api(Database& database) {
  fts5_api* api = nullptr;
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(database.handle(), "SELECT fts5(?1)", -1, &statement, nullptr) == SQLITE_OK) {
    sqlite3_bind_pointer(statement, 1, static_cast<void*>(&api), "fts5_api_ptr", nullptr);
    sqlite3_step(statement);
  }
  sqlite3_finalize(statement);
  return api;
}

}  // namespace

void register_fts_tokenizer(Database& database) {
  fts5_api* api = find_api(database);
  if (api == nullptr) throw Failure{Error{ErrorCode::kUnsupported, "this SQLite library was built without FTS5"}};
  fts5_tokenizer methods{create_tokenizer, delete_tokenizer, tokenize};
  const int code = api->xCreateTokenizer(api, kFtsTokenizer, nullptr, &methods, nullptr);
  if (code != SQLITE_OK) database.fail(code);
}

}  // namespace casemate
