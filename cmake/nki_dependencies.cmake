# Third-party libraries: find_package first, then, with NKI_FETCH_DEPS, a download at a pinned hash.
#
# The versions are the floor of the interfaces that nki uses; newer ones are taken as they are. Versions are compared
# here and not by find_package, because some packages refuse every other major version.

include(FetchContent)

# nki_dependency(<package> TARGET <target> MINIMUM <version> DEBIAN <package>
#                [URL <url> SHA256 <hash> (INCLUDE <subfolder> [DEFINITIONS <definition>...] | BUILD)]
#                [WANTED_BY <option>])
#
# Make <target> available if it can be had. When <option> is on and the target cannot be had, stop and say what helps.
# A fetched header library becomes an imported target: nothing of its own build runs, its headers count as system
# headers, and the exported nki targets can name it. BUILD is for libraries that have something to compile.
function(nki_dependency package)
  cmake_parse_arguments(PARSE_ARGV 1 arg "BUILD" "TARGET;MINIMUM;DEBIAN;URL;SHA256;INCLUDE" "DEFINITIONS;WANTED_BY")

  if(NOT TARGET ${arg_TARGET})
    find_package(${package} QUIET GLOBAL)
  endif()
  set(found "it was not found")
  if(TARGET ${arg_TARGET} AND arg_MINIMUM AND ${package}_VERSION AND ${package}_VERSION VERSION_LESS arg_MINIMUM)
    set(found "found ${${package}_VERSION}")
  elseif(TARGET ${arg_TARGET})
    return()
  endif()

  if(NKI_FETCH_DEPS AND arg_URL AND NOT TARGET ${arg_TARGET})
    string(TOLOWER "nki_${package}" content)
    if(arg_BUILD)
      # Older projects ask this policy before they respect options that are set here; our warnings are not theirs.
      set(CMAKE_POLICY_DEFAULT_CMP0077 NEW)
      set(CMAKE_COMPILE_WARNING_AS_ERROR OFF)
      FetchContent_Declare(${content} URL "${arg_URL}" URL_HASH SHA256=${arg_SHA256} DOWNLOAD_EXTRACT_TIMESTAMP FALSE
                           SYSTEM)
      FetchContent_MakeAvailable(${content})
    else()
      FetchContent_Declare(${content} URL "${arg_URL}" URL_HASH SHA256=${arg_SHA256} DOWNLOAD_EXTRACT_TIMESTAMP FALSE
                           SOURCE_SUBDIR nothing_to_build)
      FetchContent_MakeAvailable(${content})
      add_library(${arg_TARGET} INTERFACE IMPORTED GLOBAL)
      target_include_directories(${arg_TARGET} INTERFACE "${${content}_SOURCE_DIR}/${arg_INCLUDE}")
      target_compile_definitions(${arg_TARGET} INTERFACE ${arg_DEFINITIONS})
    endif()
    return()
  endif()

  foreach(option IN LISTS arg_WANTED_BY)
    if(${option})
      set(help "Install it (Debian: ${arg_DEBIAN}), or set ${option}=OFF.")
      if(arg_URL)
        set(help "Install it (Debian: ${arg_DEBIAN}), or set NKI_FETCH_DEPS=ON to download it, or set ${option}=OFF.")
      endif()
      string(STRIP "${package} ${arg_MINIMUM}" wanted)
      message(FATAL_ERROR "${option}=ON needs ${wanted} or newer, but ${found}. ${help}")
    endif()
  endforeach()
endfunction()

set(nki_everything NKI_BUILD_TOOLS NKI_BUILD_TESTS NKI_BUILD_BENCH NKI_BUILD_EXAMPLES)

nki_dependency(
  Eigen3 TARGET Eigen3::Eigen MINIMUM 3.4.0 DEBIAN libeigen3-dev WANTED_BY ${nki_everything}
  URL https://gitlab.com/libeigen/eigen/-/archive/3.4.0/eigen-3.4.0.tar.gz
  SHA256 8586084f71f9bde545ee7fa6d00288b264a2b7ac3607b974e54d13e7162c1c72 INCLUDE .)
nki_dependency(
  xsimd TARGET xsimd MINIMUM 8.1.0 DEBIAN libxsimd-dev WANTED_BY ${nki_everything}
  URL https://github.com/xtensor-stack/xsimd/archive/8.1.0.tar.gz
  SHA256 d52551360d37709675237d2a0418e28f70995b5b7cdad7c674626bcfbbf48328 INCLUDE include)
nki_dependency(
  fmt TARGET fmt::fmt-header-only MINIMUM 9.1.0 DEBIAN libfmt-dev WANTED_BY ${nki_everything}
  URL https://github.com/fmtlib/fmt/archive/9.1.0.tar.gz
  SHA256 5dea48d1fcddc3ec571ce2058e13910a0d4a6bab4cc09a809d8b1dd1c88ae6f2 INCLUDE include
  DEFINITIONS FMT_HEADER_ONLY=1)
nki_dependency(
  nlohmann_json TARGET nlohmann_json::nlohmann_json MINIMUM 3.11.2 DEBIAN nlohmann-json3-dev WANTED_BY ${nki_everything}
  URL https://github.com/nlohmann/json/archive/refs/tags/v3.11.2.tar.gz
  SHA256 d69f9deb6a75e2580465c6c4c5111b89c4dc2fa94e3a85fcd2ffcd9a143d9273 INCLUDE include)
nki_dependency(Threads TARGET Threads::Threads DEBIAN libc6-dev WANTED_BY ${nki_everything})

if(NKI_BUILD_TOOLS)
  nki_dependency(
    CLI11 TARGET CLI11::CLI11 MINIMUM 2.1.2 DEBIAN libcli11-dev WANTED_BY NKI_BUILD_TOOLS
    URL https://github.com/CLIUtils/CLI11/archive/refs/tags/v2.1.2.tar.gz
    SHA256 26291377e892ba0e5b4972cdfd4a2ab3bf53af8dac1f4ea8fe0d1376b625c8cb INCLUDE include)
  nki_dependency(ZLIB TARGET ZLIB::ZLIB DEBIAN zlib1g-dev WANTED_BY NKI_BUILD_TOOLS)
endif()

if(NKI_BUILD_TESTS)
  set(INSTALL_GTEST OFF)
  nki_dependency(
    GTest TARGET GTest::gtest_main MINIMUM 1.12.1 DEBIAN "libgtest-dev libgmock-dev" WANTED_BY NKI_BUILD_TESTS BUILD
    URL https://github.com/google/googletest/archive/refs/tags/release-1.12.1.tar.gz
    SHA256 81964fe578e9bd7c94dfdb09c8e4d6e6759e19967e397dbea48d1c10e45d0df2)
  find_program(NKI_PYTHON python3 DOC "Python 3, which runs the tests that are scripts")
  if(NOT NKI_PYTHON)
    message(FATAL_ERROR "NKI_BUILD_TESTS=ON needs python3. Install it (Debian: python3 python3-numpy), "
                        "or set NKI_BUILD_TESTS=OFF.")
  endif()
endif()

if(NKI_BUILD_BENCH)
  set(BENCHMARK_ENABLE_TESTING OFF)
  set(BENCHMARK_ENABLE_INSTALL OFF)
  set(BENCHMARK_ENABLE_WERROR OFF)
  nki_dependency(
    benchmark TARGET benchmark::benchmark MINIMUM 1.7.1 DEBIAN libbenchmark-dev WANTED_BY NKI_BUILD_BENCH BUILD
    URL https://github.com/google/benchmark/archive/refs/tags/v1.7.1.tar.gz
    SHA256 6430e4092653380d9dc4ccb45a1e2dc9259d581f4866dc0759713126056bc1d7)
endif()
