# What stands in stacks/: the tests of stack capture.
add_subdirectory(stacks)
