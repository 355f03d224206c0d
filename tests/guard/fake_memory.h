// What libcudart_of_guard.so knows of an address, for its driver.
#pragma once

struct FakeMemory {
  int type;  // cudaMemoryType, and the same as CUmemorytype: 0 unknown, 1 of the host, 2 of a GPU
  int device;
};

// Counts as a question, and takes as long as fake_take() says.
extern "C" FakeMemory fake_memory_at(const void* address);
