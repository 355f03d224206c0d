# What is shipped and where it goes: into the wheel, or by `cmake --install` to a prefix for programs without Python.
# Shipped binaries carry their C++ runtime, so that they run on distributions other than the one they were built on.
set(shipped turnpike turnpike_record_library turnpike_guard)
if(TURNPIKE_PYTHON)
  list(APPEND shipped turnpike_python)
endif()
if(NOT TURNPIKE_SANITIZE)
  foreach(target IN LISTS shipped)
    target_link_options(${target} PRIVATE -static-libstdc++ -static-libgcc)
  endforeach()
endif()

include(GNUInstallDirs)
if(SKBUILD)
  add_custom_target(turnpike_wheel)
  add_dependencies(turnpike_wheel ${shipped} turnpike_launcher)
  install(TARGETS turnpike turnpike_record_library turnpike_guard DESTINATION turnpike/_native COMPONENT turnpike)
  install(TARGETS turnpike_launcher DESTINATION ${SKBUILD_SCRIPTS_DIR} COMPONENT turnpike)
  install(TARGETS turnpike_python DESTINATION turnpike COMPONENT turnpike)
else()
  install(TARGETS turnpike RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT turnpike)
  # Not LIBDIR, which differs between distributions: the command looks here, from its own place on.
  install(TARGETS turnpike_record_library turnpike_guard LIBRARY DESTINATION lib/turnpike COMPONENT turnpike)
  install(FILES src/record/session.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/turnpike COMPONENT turnpike)
endif()

# For C++: the engine of move in one archive, found by find_package(turnpike) as turnpike::move. Its component is one of its
# own, so that a test can install it without the rest.
install(TARGETS turnpike_move_archive EXPORT turnpike ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT turnpike_cpp)
install(EXPORT turnpike NAMESPACE turnpike:: FILE turnpike-targets.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/turnpike COMPONENT turnpike_cpp)
include(CMakePackageConfigHelpers)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/turnpike-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES cmake/turnpike-config.cmake ${PROJECT_BINARY_DIR}/turnpike-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/turnpike COMPONENT turnpike_cpp)
install(FILES src/move/move.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/turnpike COMPONENT turnpike_cpp)
install(FILES src/base/result.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/turnpike/base COMPONENT turnpike_cpp)
