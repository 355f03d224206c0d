// The lines of the program that torch.compile made its code from. Only Python knows them: each node of a graph keeps
// the stack that it was traced at, and Inductor's files name the nodes.
//
// Python looks them up itself, in a pending call (python_call.h): once for each batch of new files. It then walks all
// objects that its garbage collector knows, which takes 50 to 100 ms in a program with PyTorch. Nothing in the
// program's graphs is changed or kept alive.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace turnpike::record {

struct SourceLine {
  std::string function;
  std::string file;
  std::uint32_t line;
};

// Has Python look up the lines of a file that it did not look at yet (is_compiled_file). Any thread, with Python's lock
// or without. Throws std::bad_alloc.
void want_compiled_lines(const std::string& file);

// Asks Python again if its queue was full before. Any thread.
void ask_for_compiled_lines() noexcept;

enum class CompiledAnswer { kNotYet, kFound, kUnknown };
// What a line of such a file was compiled from, innermost first. Any thread. Throws std::bad_alloc.
CompiledAnswer compiled_from(const std::string& file, std::uint32_t line, std::vector<SourceLine>& sources);

// Looks up all wanted files now. Waits for the GIL if the calling thread does not hold it. The caller must hold no lock
// that a thread with the GIL may want. If a signal handler raises meanwhile, the exception is raised when the program
// next runs bytecode.
void find_compiled_lines_now() noexcept;

// Looks at once. For a thread that holds Python's lock. False: a handler of the program's signals raised an exception,
// which is set.
bool look_for_compiled_lines() noexcept;

// Around a fork: no other thread holds the lines then.
void before_fork_of_compiled_lines() noexcept;
void after_fork_of_compiled_lines() noexcept;

}  // namespace turnpike::record
