# The compiler settings that every target of Turnpike shares, and the function that makes a folder's library.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)

add_library(turnpike_options INTERFACE)
target_include_directories(turnpike_options INTERFACE ${PROJECT_SOURCE_DIR}/src)
option(TURNPIKE_WERROR "Treat warnings as errors; off for those who only install: their compiler may know more of them" ON)
target_compile_options(turnpike_options INTERFACE -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion)
if(TURNPIKE_WERROR)
  target_compile_options(turnpike_options INTERFACE -Werror)
endif()
target_compile_definitions(turnpike_options INTERFACE TURNPIKE_VERSION="${PROJECT_VERSION}")
# Lines for backtraces, but no types and variables: those take a quarter of the time to compile, and what is shipped is
# stripped anyway. The preset `debug` has them all.
target_compile_options(turnpike_options INTERFACE $<$<CONFIG:RelWithDebInfo>:-g1>)
foreach(sanitizer IN LISTS TURNPIKE_SANITIZE)
  target_compile_options(turnpike_options INTERFACE -fsanitize=${sanitizer} -fno-omit-frame-pointer)
  target_link_options(turnpike_options INTERFACE -fsanitize=${sanitizer})
endforeach()

# turnpike_library(NAME SOURCES... [LINKS target...]): the static library of one folder of src/.
function(turnpike_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINKS" ${ARGN})
  add_library(turnpike_${name} STATIC ${arg_SOURCES})
  target_link_libraries(turnpike_${name} PUBLIC turnpike_options ${arg_LINKS})
endfunction()

# turnpike_exports(TARGET NAME...): what a shared library shows, and nothing else. A version script says it, because zig's
# linker (scripts/wheels) knows no --exclude-libs.
function(turnpike_exports target)
  list(JOIN ARGN "; " names)
  set(script ${CMAKE_CURRENT_BINARY_DIR}/${target}.exports)
  file(CONFIGURE OUTPUT ${script} CONTENT "{ global: ${names}; local: *; };\n")
  target_link_options(${target} PRIVATE "LINKER:--version-script,${script}")
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${script})
endfunction()
