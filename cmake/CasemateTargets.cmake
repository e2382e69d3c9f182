# How targets of this project are made: one place for warnings, sanitizers and names.

find_program(CASEMATE_CCACHE ccache)
if(CASEMATE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CASEMATE_CCACHE}")
  set(CMAKE_C_COMPILER_LAUNCHER "${CASEMATE_CCACHE}")
endif()

add_library(casemate_flags INTERFACE)
target_compile_options(casemate_flags INTERFACE -Wall -Wextra -Wconversion -Wshadow)
# GCC 12 reports an overlap that cannot be for string concatenation at -O3 (its bug 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(casemate_flags INTERFACE -Wno-restrict)
endif()
if(CASEMATE_WERROR)
  target_compile_options(casemate_flags INTERFACE -Werror)
endif()
if(CASEMATE_SANITIZE)
  add_compile_options(-fsanitize=${CASEMATE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${CASEMATE_SANITIZE})
  # GCC sees uninitialised values that are none in what sanitizers make of a variant.
  add_compile_options(-Wno-maybe-uninitialized)
  if(CASEMATE_SANITIZE MATCHES "thread")
    # ThreadSanitizer does not know fences, and Asio's guard nothing that its locks do not.
    add_compile_options(-Wno-tsan)
    add_compile_definitions(BOOST_ASIO_DISABLE_FENCED_BLOCK)
  endif()
endif()

# casemate_join(target [ALONE a.cpp ...]) compiles the target's files several at a time, since most of what compiling one
# takes is headers that the next one includes too: a first build takes two thirds of the time. Where files are compiled
# alone (presets debug, asan and tsan) an include that only a neighbour has is found.
function(casemate_join target)
  cmake_parse_arguments(ARG "" "" "ALONE" ${ARGN})
  if(NOT CASEMATE_JOIN)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  set_source_files_properties(${ARG_ALONE} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

set_property(GLOBAL PROPERTY CASEMATE_LIBRARIES "")

# casemate_library(folder SOURCES a.cpp ... [DEPENDS core ...] [LINK external ...] [LINK_PUBLIC external ...])
# makes casemate_<folder> (alias casemate::<folder>) from src/<folder>.
function(casemate_library folder)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;LINK;LINK_PUBLIC" ${ARGN})
  set(target casemate_${folder})
  add_library(${target} STATIC ${ARG_SOURCES})
  add_library(casemate::${folder} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${folder})
  target_include_directories(${target}
    PUBLIC "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>" "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>"
    PRIVATE "${PROJECT_SOURCE_DIR}/src")
  target_compile_features(${target} PUBLIC cxx_std_20)
  foreach(dependency IN LISTS ARG_DEPENDS)
    target_link_libraries(${target} PUBLIC casemate_${dependency})
  endforeach()
  target_link_libraries(${target} PUBLIC ${ARG_LINK_PUBLIC} PRIVATE ${ARG_LINK} $<BUILD_INTERFACE:casemate_flags>)
  set_property(GLOBAL APPEND PROPERTY CASEMATE_LIBRARIES ${target})
endfunction()

# casemate::casemate links every library of the project.
function(casemate_umbrella)
  get_property(libraries GLOBAL PROPERTY CASEMATE_LIBRARIES)
  add_library(casemate_casemate INTERFACE)
  add_library(casemate::casemate ALIAS casemate_casemate)
  set_target_properties(casemate_casemate PROPERTIES EXPORT_NAME casemate)
  target_link_libraries(casemate_casemate INTERFACE ${libraries})
endfunction()

# casemate_test(name SOURCES a_test.cpp ... [LINK target ...] [LABELS label ...] [TIMEOUT seconds])
# makes one GoogleTest program and registers each of its tests with ctest.
function(casemate_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;LINK;LABELS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/tests")
  target_compile_definitions(${name} PRIVATE CASEMATE_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  target_link_libraries(${name} PRIVATE ${ARG_LINK} GTest::gmock GTest::gtest_main casemate_flags)
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 120
    PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${name};${ARG_LABELS}" SKIP_REGULAR_EXPRESSION "\\[  SKIPPED \\]")
endfunction()
