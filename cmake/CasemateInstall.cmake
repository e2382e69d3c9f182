# `cmake --install`: the programs, the libraries with their headers, and a package that find_package(Casemate) finds.
# The llama.cpp that was built is installed along, so that an installation does not depend on the cache.

include(CMakePackageConfigHelpers)
set(CASEMATE_PACKAGE_DIR "${CMAKE_INSTALL_LIBDIR}/cmake/Casemate")

get_property(libraries GLOBAL PROPERTY CASEMATE_LIBRARIES)
install(TARGETS ${libraries} casemate_casemate EXPORT CasemateTargets ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(DIRECTORY include/casemate DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(TARGETS casemate RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
install(TARGETS casemate-reader RUNTIME DESTINATION "${CMAKE_INSTALL_LIBEXECDIR}/casemate")
install(DIRECTORY "${CASEMATE_LLAMA_FOUND}/" DESTINATION "${CMAKE_INSTALL_LIBDIR}/casemate/llama" USE_SOURCE_PERMISSIONS)
install(EXPORT CasemateTargets NAMESPACE casemate:: DESTINATION "${CASEMATE_PACKAGE_DIR}")
install(FILES cmake/FindOneDNN.cmake cmake/CasemateExternal.cmake DESTINATION "${CASEMATE_PACKAGE_DIR}")

configure_package_config_file(cmake/CasemateConfig.cmake.in "${CMAKE_CURRENT_BINARY_DIR}/CasemateConfig.cmake"
  INSTALL_DESTINATION "${CASEMATE_PACKAGE_DIR}")
write_basic_package_version_file("${CMAKE_CURRENT_BINARY_DIR}/CasemateConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/CasemateConfig.cmake" "${CMAKE_CURRENT_BINARY_DIR}/CasemateConfigVersion.cmake"
  DESTINATION "${CASEMATE_PACKAGE_DIR}")
