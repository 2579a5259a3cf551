# Header modules: what an application links.

# What a module links for a third-party package that it names in DEPENDS.
set(nki_link_Eigen3 Eigen3::Eigen)
set(nki_link_fmt fmt::fmt-header-only)
set(nki_link_nlohmann_json nlohmann_json::nlohmann_json)
set(nki_link_Threads Threads::Threads)

# nki_header_module(<name> BASE <include folder> SUBDIRS <folder below it>... [DEPENDS <module or package>...])
#
# Define the target nki::<name> from the headers below BASE/SUBDIR, and BASE/SUBDIR.hpp. A module whose folder holds no
# header yet is a target without headers. Modules are declared before those that depend on them.
function(nki_header_module name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "BASE" "SUBDIRS;DEPENDS")
  set(base "${nki_SOURCE_DIR}/${arg_BASE}")
  set(headers "")
  foreach(subdir IN LISTS arg_SUBDIRS)
    file(GLOB_RECURSE in_folder CONFIGURE_DEPENDS "${base}/${subdir}/*.hpp" "${base}/${subdir}/*.h")
    file(GLOB beside_folder CONFIGURE_DEPENDS "${base}/${subdir}.hpp")
    list(APPEND headers ${in_folder} ${beside_folder})
  endforeach()
  list(SORT headers)

  nki_module_target(${name} DEPENDS ${arg_DEPENDS})
  target_sources(nki_${name} INTERFACE FILE_SET HEADERS BASE_DIRS "${base}" FILES ${headers})

  set_property(GLOBAL PROPERTY NKI_BASE_${name} "${base}")
  set_property(GLOBAL PROPERTY NKI_HEADERS_${name} "${headers}")
  set_property(GLOBAL APPEND PROPERTY NKI_MODULES ${name})
endfunction()

# nki_umbrella(<name> DEPENDS <module>...): the target nki::<name> that stands for all these modules.
function(nki_umbrella name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "DEPENDS")
  nki_module_target(${name} DEPENDS ${arg_DEPENDS})
endfunction()

# The target of a module with its usage requirements. Records the modules and the packages that it reaches.
function(nki_module_target name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "DEPENDS")
  set(target nki_${name})
  if(name STREQUAL "nki")
    set(target nki)
  endif()
  add_library(${target} INTERFACE)
  add_library(nki::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  target_compile_features(${target} INTERFACE cxx_std_20)

  set(modules "")
  set(packages "")
  foreach(dependency IN LISTS arg_DEPENDS)
    if(TARGET nki_${dependency})
      target_link_libraries(${target} INTERFACE nki_${dependency})
      get_property(below GLOBAL PROPERTY NKI_REACHED_MODULES_${dependency})
      list(APPEND modules ${dependency} ${below})
      get_property(below GLOBAL PROPERTY NKI_REACHED_PACKAGES_${dependency})
      list(APPEND packages ${below})
    elseif(dependency STREQUAL "xsimd")
      # Its headers only: Debian's xsimd target asks the linker for the header-only library xtl, which does not exist.
      target_include_directories(${target} SYSTEM INTERFACE $<TARGET_PROPERTY:xsimd,INTERFACE_INCLUDE_DIRECTORIES>)
      target_compile_definitions(${target} INTERFACE $<TARGET_PROPERTY:xsimd,INTERFACE_COMPILE_DEFINITIONS>)
      list(APPEND packages xsimd)
    elseif(DEFINED nki_link_${dependency})
      target_link_libraries(${target} INTERFACE ${nki_link_${dependency}})
      list(APPEND packages ${dependency})
    else()
      message(FATAL_ERROR "nki::${name} depends on ${dependency}, which is neither a module declared above it "
                          "nor a package that cmake/nki_modules.cmake knows.")
    endif()
  endforeach()
  list(REMOVE_DUPLICATES modules)
  list(REMOVE_DUPLICATES packages)
  set_property(GLOBAL PROPERTY NKI_REACHED_MODULES_${name} "${modules}")
  set_property(GLOBAL PROPERTY NKI_REACHED_PACKAGES_${name} "${packages}")
  set_property(GLOBAL APPEND PROPERTY NKI_TARGETS ${target})
  set_property(GLOBAL APPEND PROPERTY NKI_COMPONENTS ${name})
endfunction()
