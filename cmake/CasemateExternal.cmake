# External libraries, for the build and for an installed Casemate alike. Each is linked by the folder that needs it;
# docs/dependencies.md says what is used for what.

find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(ICU REQUIRED COMPONENTS uc i18n data)
find_package(SQLite3 REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(Boost 1.81 REQUIRED)
find_package(OneDNN REQUIRED)
pkg_check_modules(Sodium REQUIRED IMPORTED_TARGET libsodium)
pkg_check_modules(Hwy REQUIRED IMPORTED_TARGET libhwy)
pkg_check_modules(Gumbo REQUIRED IMPORTED_TARGET gumbo)
pkg_check_modules(Md4c REQUIRED IMPORTED_TARGET md4c)
pkg_check_modules(Zip REQUIRED IMPORTED_TARGET libzip)
find_package(pugixml REQUIRED)
if(CASEMATE_BUILD_FUZZ)
  find_package(OpenMP COMPONENTS CXX)  # clang often comes without, and what is fuzzed does not need it
else()
  find_package(OpenMP REQUIRED COMPONENTS CXX)
endif()
find_package(faiss REQUIRED CONFIG)
