# turnpike_libdeflate: libdeflate, statically where the system has it so, because what ships must need no library of the machine.
find_path(TURNPIKE_LIBDEFLATE_INCLUDE libdeflate.h REQUIRED)
find_library(TURNPIKE_LIBDEFLATE_LIBRARY NAMES libdeflate.a deflate REQUIRED)
if(NOT TURNPIKE_LIBDEFLATE_LIBRARY MATCHES "\\.a$")
  message(STATUS "libdeflate is here only as a shared library: what is built needs it to run")
endif()
add_library(turnpike_libdeflate INTERFACE)
target_include_directories(turnpike_libdeflate SYSTEM INTERFACE ${TURNPIKE_LIBDEFLATE_INCLUDE})
target_link_libraries(turnpike_libdeflate INTERFACE ${TURNPIKE_LIBDEFLATE_LIBRARY})
