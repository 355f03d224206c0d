# What find_package(turnpike) reads: the target turnpike::move, the engine of turnpike/move.h.
include(CMakeFindDependencyMacro)
find_dependency(Threads)
include(${CMAKE_CURRENT_LIST_DIR}/turnpike-targets.cmake)
