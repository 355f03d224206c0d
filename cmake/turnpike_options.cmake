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
target_compile_options(turnpike_options INTERFACE -Wall -Wextra -Werror -Wshadow -Wconversion -Wno-sign-conversion)
target_compile_definitions(turnpike_options INTERFACE TURNPIKE_VERSION="${PROJECT_VERSION}")
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
