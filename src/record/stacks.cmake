# The part of the recorder that says where in the code a call stands: stacks, their names, and autograd's numbers.
add_library(
  turnpike_record_stacks STATIC
  ${CMAKE_CURRENT_LIST_DIR}/autograd.cpp
  ${CMAKE_CURRENT_LIST_DIR}/call_frame_info.cpp
  ${CMAKE_CURRENT_LIST_DIR}/loaded_module.cpp
  ${CMAKE_CURRENT_LIST_DIR}/module_symbols.cpp
  ${CMAKE_CURRENT_LIST_DIR}/native_stack.cpp
  ${CMAKE_CURRENT_LIST_DIR}/own_memory.cpp
  ${CMAKE_CURRENT_LIST_DIR}/python_lines.cpp
  ${CMAKE_CURRENT_LIST_DIR}/python_runtime.cpp
  ${CMAKE_CURRENT_LIST_DIR}/python_sampler.cpp
  ${CMAKE_CURRENT_LIST_DIR}/python_stack.cpp
  ${CMAKE_CURRENT_LIST_DIR}/stack_table.cpp
  ${CMAKE_CURRENT_LIST_DIR}/string_table.cpp)
target_link_libraries(turnpike_record_stacks PUBLIC turnpike_options PRIVATE ${CMAKE_DL_LIBS})
