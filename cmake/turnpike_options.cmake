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
# Lines for backtraces, but no types and variables, which take a quarter of the time to compile; the preset `debug` has them
# all. What goes into a wheel is stripped, so it has none.
if(SKBUILD)
  target_compile_options(turnpike_options INTERFACE $<$<CONFIG:RelWithDebInfo>:-g0>)
else()
  target_compile_options(turnpike_options INTERFACE $<$<CONFIG:RelWithDebInfo>:-g1>)
endif()
# A tenth of the time goes into tidying up less than a gigabyte of memory.
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  target_compile_options(turnpike_options INTERFACE --param=ggc-min-heapsize=1000000)
endif()
foreach(sanitizer IN LISTS TURNPIKE_SANITIZE)
  target_compile_options(turnpike_options INTERFACE -fsanitize=${sanitizer} -fno-omit-frame-pointer)
  target_link_options(turnpike_options INTERFACE -fsanitize=${sanitizer})
endforeach()
# The runtimes of these sanitizers, which must come first in a program that was not built with them.
set(runtimes address=libasan.so thread=libtsan.so undefined=libubsan.so)
# ThreadSanitizer does not know fences. Ours order what another process reads.
if("thread" IN_LIST TURNPIKE_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  target_compile_options(turnpike_options INTERFACE -Wno-tsan)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL Clang)
  # The functions of drivers are called through pointers, and their types are those of other headers.
  if("undefined" IN_LIST TURNPIKE_SANITIZE)
    target_compile_options(turnpike_options INTERFACE -fno-sanitize=function)
  endif()
  # GCC's name for it, which the sources ask for.
  if("address" IN_LIST TURNPIKE_SANITIZE)
    target_compile_definitions(turnpike_options INTERFACE __SANITIZE_ADDRESS__=1)
  endif()
  # As GCC does by itself: one runtime for a program and its libraries. That of AddressSanitizer has the other's, too.
  set(runtimes address=libclang_rt.asan-${CMAKE_SYSTEM_PROCESSOR}.so thread=libclang_rt.tsan-${CMAKE_SYSTEM_PROCESSOR}.so)
endif()
set(TURNPIKE_SANITIZER_RUNTIMES)
foreach(pair IN LISTS runtimes)
  string(REPLACE "=" ";" pair ${pair})
  list(GET pair 0 sanitizer)
  list(GET pair 1 runtime)
  if(sanitizer IN_LIST TURNPIKE_SANITIZE)
    execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=${runtime} OUTPUT_VARIABLE file OUTPUT_STRIP_TRAILING_WHITESPACE)
    list(APPEND TURNPIKE_SANITIZER_RUNTIMES ${file})
    if(CMAKE_CXX_COMPILER_ID STREQUAL Clang AND NOT TURNPIKE_FUZZ)
      get_filename_component(folder ${file} DIRECTORY)
      target_link_options(turnpike_options INTERFACE -shared-libsan -Wl,-rpath,${folder})
    endif()
  endif()
endforeach()

# Several sources in one compilation take half of the processor time, most of which goes into headers and their templates.
# Off for those who change one file and build again, and for the search for mutants.
option(TURNPIKE_UNITY "Compile several sources of a folder at once" OFF)

# turnpike_library(NAME SOURCES... [LINKS target...] [APART source...]): the static library of one folder of src/. Sources
# APART have names in common with others of the folder, so they are never compiled with them.
function(turnpike_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINKS;APART" ${ARGN})
  add_library(turnpike_${name} STATIC ${arg_SOURCES})
  if(TURNPIKE_UNITY)
    set_target_properties(turnpike_${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 20)
    if(arg_APART)
      set_source_files_properties(${arg_APART} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    endif()
  endif()
  target_link_libraries(turnpike_${name} PUBLIC turnpike_options ${arg_LINKS})
endfunction()

# turnpike_compile_quickly(TARGET): for code that runs for milliseconds in a command. Optimised less, it compiles in two thirds
# of the time.
function(turnpike_compile_quickly target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:RelWithDebInfo>:-O1>)
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
