# Run as a script: writes OUTPUT, a C++ source that defines `std::string_view casemate::SYMBOL()` with the text of INPUT.
file(READ "${INPUT}" text)
string(FIND "${text}" ")embedded\"" clash)
if(NOT clash EQUAL -1)
  message(FATAL_ERROR "${INPUT} holds the end mark of a raw string")
endif()
file(WRITE "${OUTPUT}" "#include <string_view>\n\nnamespace casemate {\nstd::string_view ${SYMBOL}();\nstd::string_view ${SYMBOL}() {\n  return R\"embedded(${text})embedded\";\n}\n}  // namespace casemate\n")
