// What chooses a mutant: the variable MUTANT of the environment, read once in a process and inherited by its children.
// MUTANT=7 makes mutant 7 real. MUTANT=reach keeps the original and adds the number of every mutant that is come upon
// to the file that MUTANT_REACHED names. Safe in signal handlers and callbacks: no lock, no allocation, errno as it
// was.
#pragma once

#ifdef __cplusplus
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

namespace turnpike_mutant_switch {

inline constexpr int kUnread = -2;
inline constexpr int kReach = -3;
inline constexpr int kMost = 1 << 16;

inline int chosen = kUnread;
// Whether this process sets MUTANT_REACHED anew for each test: pytest does, and says so with its id in
// MUTANT_CHANGES_IN.
inline bool is_changing = false;
inline unsigned long test = 1;  // the number of the test that runs, in a test program of GoogleTest
// The test in which a mutant was noted last: `test`, or where it changes, the value of MUTANT_REACHED.
inline unsigned long reached_in[kMost] = {};

inline int number_in(const char* text) noexcept {
  int number = 0;
  for (; *text >= '0' && *text <= '9'; ++text) number = number * 10 + (*text - '0');
  return number;
}

inline int read() noexcept {
  const char* text = getenv("MUTANT");
  int number = -1;
  if (text != nullptr && *text == 'r') number = kReach;
  if (text != nullptr && *text >= '0' && *text <= '9') number = number_in(text);
  const char* changes_in = getenv("MUTANT_CHANGES_IN");
  is_changing = changes_in != nullptr && number_in(changes_in) == getpid();
  __atomic_store_n(&chosen, number, __ATOMIC_RELAXED);
  return number;
}

inline void reach(int number) noexcept {
  if (number >= kMost) return;
  // The C library never frees a value of the environment, so another test is another pointer.
  const char* path = is_changing ? getenv("MUTANT_REACHED") : nullptr;
  const unsigned long now = is_changing ? reinterpret_cast<unsigned long>(path) : test;
  if (__atomic_exchange_n(&reached_in[number], now, __ATOMIC_RELAXED) == now) return;
  if (!is_changing) path = getenv("MUTANT_REACHED");
  if (path == nullptr) return;
  const int saved = errno;
  char digits[16];
  int at = sizeof digits;
  digits[--at] = '\n';
  for (int rest = number; at == sizeof digits - 1 || rest > 0; rest /= 10)
    digits[--at] = static_cast<char>('0' + rest % 10);
  const int file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (file >= 0) {
    [[maybe_unused]] const auto written = write(file, digits + at, sizeof digits - at);
    close(file);
  }
  errno = saved;
}

// The next test begins: what it reaches goes to a file of its own.
inline void begin(const char* path) noexcept {
  setenv("MUTANT_REACHED", path, 1);
  ++test;
}

inline bool is(int number) noexcept {
  int now = __atomic_load_n(&chosen, __ATOMIC_RELAXED);
  if (now == kUnread) now = read();
  if (now == kReach) reach(number);
  return now == number;
}

}  // namespace turnpike_mutant_switch

// While the compiler computes a constant, the original counts.
constexpr bool turnpike_mutant_is(int number) noexcept {
  if (__builtin_is_constant_evaluated()) return false;
  return turnpike_mutant_switch::is(number);
}
#endif
