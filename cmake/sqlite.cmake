# turnpike_sqlite: SQLite, statically where the system has it so, because what ships must need no library of the machine.
find_path(TURNPIKE_SQLITE_INCLUDE sqlite3.h REQUIRED)
find_library(TURNPIKE_SQLITE_LIBRARY NAMES libsqlite3.a sqlite3 REQUIRED)
if(NOT TURNPIKE_SQLITE_LIBRARY MATCHES "\\.a$")
  message(STATUS "SQLite is here only as a shared library: what is built needs it to run")
endif()
find_package(Threads REQUIRED)
add_library(turnpike_sqlite INTERFACE)
target_include_directories(turnpike_sqlite SYSTEM INTERFACE ${TURNPIKE_SQLITE_INCLUDE})
target_link_libraries(turnpike_sqlite INTERFACE ${TURNPIKE_SQLITE_LIBRARY} m Threads::Threads ${CMAKE_DL_LIBS})
# Debian's archive is made for executables. Its symbols hidden, it can be part of the Python extension too, which is a shared
# object: what it refers to is then its own.
if(TURNPIKE_SQLITE_LIBRARY MATCHES "\\.a$")
  target_link_options(turnpike_sqlite INTERFACE "LINKER:--exclude-libs,libsqlite3.a")
endif()
