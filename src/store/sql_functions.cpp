#include "sql_functions.h"

#include <sqlite3.h>

#include "casemate/store/vector_snapshot.h"

namespace casemate {
namespace {

void allowed(sqlite3_context* context, int /*count*/, sqlite3_value** values) {
  const auto* set = static_cast<const ChunkSet*>(sqlite3_value_pointer(values[1], kChunkSetPointer));
  sqlite3_result_int(context, set != nullptr && set->contains(sqlite3_value_int64(values[0])) ? 1 : 0);
}

}  // namespace

void register_sql_functions(Database& database) {
  const int code = sqlite3_create_function_v2(database.handle(), "casemate_allowed", 2, SQLITE_UTF8 | SQLITE_DIRECTONLY,
                                              nullptr, allowed, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) database.fail(code);
}

}  // namespace casemate
