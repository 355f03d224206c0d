# The toolchain of scripts/wheels: zig's clang and libc++ for a chosen processor and glibc. scripts/wheel_build/toolchain.py
# writes the compilers that these variables of the environment name.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR $ENV{TURNPIKE_WHEEL_PROCESSOR})
set(CMAKE_C_COMPILER $ENV{TURNPIKE_WHEEL_TOOLS}/cc)
set(CMAKE_CXX_COMPILER $ENV{TURNPIKE_WHEEL_TOOLS}/c++)
set(CMAKE_AR $ENV{TURNPIKE_WHEEL_TOOLS}/ar)
set(CMAKE_RANLIB $ENV{TURNPIKE_WHEEL_TOOLS}/ranlib)

# zig lays the C++ runtime inside; -static-libstdc++ and -static-libgcc say nothing to it.
add_compile_options($<$<COMPILE_LANGUAGE:C,CXX>:-Wno-unused-command-line-argument>)
# The host's strip may not know the processor, so the linker strips.
foreach(kind EXE SHARED MODULE)
  set(CMAKE_${kind}_LINKER_FLAGS_INIT -s)
endforeach()

# Third-party code comes from this folder alone: what the machine has is for its own glibc.
list(APPEND CMAKE_PREFIX_PATH $ENV{TURNPIKE_WHEEL_PREFIX})
set(CMAKE_FIND_USE_CMAKE_SYSTEM_PATH FALSE)
set(CMAKE_FIND_USE_SYSTEM_ENVIRONMENT_PATH TRUE)
include_directories(SYSTEM $ENV{TURNPIKE_WHEEL_PREFIX}/include)
