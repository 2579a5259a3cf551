# Install rules: headers, package configuration, pkg-config file, programs.

include(CMakePackageConfigHelpers)

get_property(targets GLOBAL PROPERTY NKI_TARGETS)
get_property(components GLOBAL PROPERTY NKI_COMPONENTS)
get_property(programs GLOBAL PROPERTY NKI_PROGRAMS)
set(config_dir "${CMAKE_INSTALL_DATADIR}/cmake/nki")

install(
  TARGETS ${targets}
  EXPORT nkiTargets
  FILE_SET HEADERS DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT nki_development)
install(
  EXPORT nkiTargets
  NAMESPACE nki::
  DESTINATION "${config_dir}"
  COMPONENT nki_development)

set(nki_package_lists "")
foreach(component IN LISTS components)
  get_property(packages GLOBAL PROPERTY NKI_REACHED_PACKAGES_${component})
  string(APPEND nki_package_lists "set(nki_packages_of_${component} \"${packages}\")\n")
endforeach()
string(REPLACE ";" " " nki_component_names "${components}")
configure_package_config_file("${nki_SOURCE_DIR}/cmake/nkiConfig.cmake.in" "${nki_BINARY_DIR}/nkiConfig.cmake"
                              INSTALL_DESTINATION "${config_dir}" NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file("${nki_BINARY_DIR}/nkiConfigVersion.cmake" COMPATIBILITY SameMinorVersion
                                 ARCH_INDEPENDENT)
install(
  FILES "${nki_BINARY_DIR}/nkiConfig.cmake" "${nki_BINARY_DIR}/nkiConfigVersion.cmake"
  DESTINATION "${config_dir}"
  COMPONENT nki_development)

# The pkg-config file finds the prefix from its own place, so an installed tree may be moved.
file(RELATIVE_PATH nki_pc_to_prefix "/prefix/${CMAKE_INSTALL_DATADIR}/pkgconfig" "/prefix")
string(REGEX REPLACE "/$" "" nki_pc_to_prefix "${nki_pc_to_prefix}")
configure_file("${nki_SOURCE_DIR}/cmake/nki.pc.in" "${nki_BINARY_DIR}/nki.pc" @ONLY)
install(
  FILES "${nki_BINARY_DIR}/nki.pc"
  DESTINATION "${CMAKE_INSTALL_DATADIR}/pkgconfig"
  COMPONENT nki_development)

install(
  FILES "${nki_SOURCE_DIR}/LICENSE"
  DESTINATION "${CMAKE_INSTALL_DOCDIR}"
  COMPONENT nki_development)

if(programs)
  install(TARGETS ${programs} RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT nki_tools)
endif()
