// Reads without the GIL: while its thread is inside C code, nobody changes its chain of contexts.
#include "guard/python_context.h"

#include <array>
#include <atomic>
#include <cstring>

#include "base/hot.h"
#include "record/stacks/mix.h"
#include "record/stacks/own_memory.h"
#include "record/stacks/python_runtime.h"

namespace turnpike::guard {
namespace {

// A PyContext's first field behind the object's head.
constexpr std::uintptr_t kAround = 16;
constexpr std::size_t kMaxWords = 64;  // of a PyThreadState: its context stands among the first
constexpr int kMaxDepth = 64;

TURNPIKE_HOT_DATA std::atomic<std::uint32_t> g_context_offset{0};  // 0: not learned

// By its name, and not by what is known of this version: contexts are learned, so versions to come serve as well.
void* find_this_thread_state() noexcept;
TURNPIKE_HOT_DATA std::atomic<void* (*)()> g_this_thread_state{find_this_thread_state};

// Found with it, where a block is entered: a hook does not enter the loader.
std::atomic<int (*)()> g_is_finalizing{nullptr};

void* find_this_thread_state() noexcept {
  g_is_finalizing.store(record::python_symbol<int (*)()>("Py_IsFinalizing"), std::memory_order_relaxed);
  auto found = record::python_symbol<void* (*)()>("PyGILState_GetThisThreadState");
  if (found == nullptr) found = [] { return static_cast<void*>(nullptr); };
  g_this_thread_state.store(found, std::memory_order_relaxed);
  return found();
}

std::uintptr_t word_at(std::uintptr_t address) noexcept {
  std::uintptr_t word;
  std::memcpy(&word, reinterpret_cast<const void*>(address), sizeof word);
  return word;
}

std::uintptr_t context_of(const void* thread) noexcept {
  const std::uint32_t offset = g_context_offset.load(std::memory_order_relaxed);
  return thread == nullptr || offset == 0 ? 0 : word_at(reinterpret_cast<std::uintptr_t>(thread) + offset);
}

}  // namespace

TURNPIKE_HOT const void* python_thread() noexcept {
  return g_this_thread_state.load(std::memory_order_relaxed)();
}

bool is_python_ending() noexcept {
  if (const record::PythonRuntime* python = record::known_python()) return record::is_ending(*python);
  int (*const is_finalizing)() = g_is_finalizing.load(std::memory_order_relaxed);
  return is_finalizing != nullptr && is_finalizing() != 0;
}

bool learn_python_context(std::uintptr_t inner, std::uintptr_t outer) noexcept {
  const auto thread = reinterpret_cast<std::uintptr_t>(python_thread());
  if (thread == 0 || word_at(inner + kAround) != outer) return false;
  std::array<std::uintptr_t, kMaxWords> words{};
  if (!record::can_read_own_memory() || !record::read_own_memory(thread, words.data(), sizeof words)) return false;
  for (std::uint32_t i = 1; i < kMaxWords; ++i) {
    if (words[i] != inner) continue;
    g_context_offset.store(i * sizeof(std::uintptr_t), std::memory_order_relaxed);
    return true;
  }
  return false;
}

std::uintptr_t python_context() noexcept {
  return context_of(python_thread());
}

TURNPIKE_HOT std::uint64_t hash_of_contexts(const void* thread) noexcept {
  std::uint64_t hash = record::mix(record::kHashSeed, reinterpret_cast<std::uintptr_t>(thread));
  std::uintptr_t current = context_of(thread);
  for (int depth = 0; current != 0 && depth < kMaxDepth; ++depth) {
    hash = record::mix(hash, current);
    current = word_at(current + kAround);
  }
  return hash | 1;
}

bool is_inside(std::uintptr_t context, const void* thread) noexcept {
  if (context == 0) return true;
  std::uintptr_t current = context_of(thread);
  for (int depth = 0; current != 0 && depth < kMaxDepth; ++depth) {
    if (current == context) return true;
    current = word_at(current + kAround);
  }
  return false;
}

}  // namespace turnpike::guard
