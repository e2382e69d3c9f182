# External libraries, llama.cpp (built by tools/setup) among them.

include(CasemateExternal)

if(NOT CASEMATE_LLAMA_PREFIX)
  execute_process(COMMAND "${PROJECT_SOURCE_DIR}/tools/setup" prefix OUTPUT_VARIABLE CASEMATE_LLAMA_FOUND
    OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
else()
  set(CASEMATE_LLAMA_FOUND "${CASEMATE_LLAMA_PREFIX}")
endif()
if(NOT EXISTS "${CASEMATE_LLAMA_FOUND}/include/llama.h")
  message(FATAL_ERROR "llama.cpp is not built yet: run tools/setup llama")
endif()
find_package(llama REQUIRED CONFIG PATHS "${CASEMATE_LLAMA_FOUND}" NO_DEFAULT_PATH)
if(CASEMATE_BUILD_TESTS)
  find_package(GTest REQUIRED)
endif()
