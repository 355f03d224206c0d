# Finds the headers of CUDA and CUPTI: in a toolkit where there is one, else in NVIDIA's wheels, fetched from PyPI into the
# build folder. Only headers are taken: nothing of Turnpike links against CUDA.
set(TURNPIKE_CUDA_INCLUDE "" CACHE PATH "Folder(s) that hold cupti.h and cuda.h; found or fetched when empty")

if(NOT TURNPIKE_CUDA_INCLUDE)
  set(candidates $ENV{CUDA_HOME} $ENV{CUDA_PATH} /usr/local/cuda)
  foreach(root IN LISTS candidates)
    # A toolkit older than 13.0 lacks names that the recorder uses.
    if(EXISTS ${root}/extras/CUPTI/include/cupti.h AND EXISTS ${root}/include/cuda.h)
      file(STRINGS ${root}/include/cuda.h version_line REGEX "^#define CUDA_VERSION [0-9]+")
      string(REGEX MATCH "[0-9]+" cuda_version "${version_line}")
      if(cuda_version GREATER_EQUAL 13000)
        set(TURNPIKE_CUDA_INCLUDE ${root}/extras/CUPTI/include ${root}/include CACHE PATH "" FORCE)
        break()
      endif()
    endif()
  endforeach()
endif()

if(NOT TURNPIKE_CUDA_INCLUDE)
  set(fetched ${PROJECT_BINARY_DIR}/cuda_headers)
  if(NOT EXISTS ${fetched}/nvidia/cu13/include/cupti.h)
    find_package(Python3 REQUIRED COMPONENTS Interpreter)
    message(STATUS "No CUDA toolkit: fetching its headers from NVIDIA's wheels")
    execute_process(
      COMMAND ${Python3_EXECUTABLE} -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes
              --target ${fetched} -r ${CMAKE_CURRENT_LIST_DIR}/cuda_headers.txt
      RESULT_VARIABLE failed)
    if(failed)
      message(FATAL_ERROR "The CUDA headers could not be fetched from PyPI. Install a CUDA toolkit >= 13.0 or set "
                          "TURNPIKE_CUDA_INCLUDE to a folder with cupti.h and cuda.h.")
    endif()
  endif()
  set(TURNPIKE_CUDA_INCLUDE ${fetched}/nvidia/cu13/include CACHE PATH "" FORCE)
endif()
message(STATUS "CUDA headers: ${TURNPIKE_CUDA_INCLUDE}")

add_library(turnpike_cuda_headers INTERFACE)
target_include_directories(turnpike_cuda_headers SYSTEM INTERFACE ${TURNPIKE_CUDA_INCLUDE})
