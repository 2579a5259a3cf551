# Targets that this project compiles for itself. None of these settings reaches an application that links nki.

add_library(nki_build_flags INTERFACE)
set(warnings -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wnon-virtual-dtor -Wold-style-cast)
target_compile_options(
  nki_build_flags
  INTERFACE "$<$<COMPILE_LANG_AND_ID:CXX,GNU,Clang,AppleClang>:${warnings}>" $<$<BOOL:${NKI_NATIVE}>:-march=native>)
if(NKI_SANITIZE)
  target_compile_options(nki_build_flags INTERFACE -fsanitize=${NKI_SANITIZE} -fno-sanitize-recover=all
                                                   -fno-omit-frame-pointer)
  target_link_options(nki_build_flags INTERFACE -fsanitize=${NKI_SANITIZE})
endif()

# nki_own_target(<target>): apply the settings of this project's own code.
function(nki_own_target target)
  target_link_libraries(${target} PRIVATE nki_build_flags)
  target_compile_features(${target} PRIVATE cxx_std_20)
  set_target_properties(
    ${target}
    PROPERTIES CXX_EXTENSIONS OFF
               CXX_VISIBILITY_PRESET hidden
               VISIBILITY_INLINES_HIDDEN ON
               RUNTIME_OUTPUT_DIRECTORY "${nki_BINARY_DIR}/bin")
endfunction()

# nki_internal_library(<name> GLOB <pattern>... [EXCLUDE <file>...] [LINK <target>...] [INCLUDE <folder>...])
#
# A static library that is not installed. Without a matching source it only passes on what it links.
function(nki_internal_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "GLOB;EXCLUDE;LINK;INCLUDE")
  list(TRANSFORM arg_GLOB PREPEND "${nki_SOURCE_DIR}/")
  list(TRANSFORM arg_EXCLUDE PREPEND "${nki_SOURCE_DIR}/")
  file(GLOB sources CONFIGURE_DEPENDS ${arg_GLOB})
  if(arg_EXCLUDE)
    list(REMOVE_ITEM sources ${arg_EXCLUDE})
  endif()
  if(sources)
    add_library(${name} STATIC ${sources})
    nki_own_target(${name})
    set(scope PUBLIC)
  else()
    add_library(${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_link_libraries(${name} ${scope} ${arg_LINK})
  target_include_directories(${name} ${scope} ${arg_INCLUDE})
endfunction()

# nki_tool_program(<name> <main source>): one of the installed programs, part of the target nki_tools.
function(nki_tool_program name main)
  set(source "${nki_SOURCE_DIR}/${main}")
  if(NOT EXISTS "${source}")
    message(STATUS "${name} is left out: there is no ${main}")
    return()
  endif()
  add_executable(${name} "${source}")
  nki_own_target(${name})
  target_link_libraries(${name} PRIVATE nki_tool)
  add_dependencies(nki_tools ${name})
  set_property(GLOBAL APPEND PROPERTY NKI_PROGRAMS ${name})
endfunction()

# nki_examples(<pattern>...): each source is a program and a test that runs it without arguments.
function(nki_examples)
  list(TRANSFORM ARGN PREPEND "${nki_SOURCE_DIR}/" OUTPUT_VARIABLE patterns)
  file(GLOB sources CONFIGURE_DEPENDS ${patterns})
  foreach(source IN LISTS sources)
    cmake_path(GET source STEM name)
    add_executable(example_${name} "${source}")
    nki_own_target(example_${name})
    target_link_libraries(example_${name} PRIVATE nki::nki nki_kernel_units)
    add_test(NAME example_${name} COMMAND example_${name})
    set_tests_properties(example_${name} PROPERTIES LABELS example TIMEOUT 120)
  endforeach()
endfunction()
