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
inline const char* reached_for[kMost] = {};  // the value of MUTANT_REACHED under which a mutant was noted last

inline int read() noexcept {
  const char* text = getenv("MUTANT");
  int number = -1;
  if (text != nullptr && *text == 'r') {
    number = kReach;
  } else if (text != nullptr && *text >= '0' && *text <= '9') {
    for (number = 0; *text >= '0' && *text <= '9'; ++text) number = number * 10 + (*text - '0');
  }
  __atomic_store_n(&chosen, number, __ATOMIC_RELAXED);
  return number;
}

inline void reach(int number) noexcept {
  // The C library never frees a value of the environment, so another test is another pointer.
  const char* path = getenv("MUTANT_REACHED");
  if (path == nullptr || number >= kMost) return;
  if (__atomic_exchange_n(&reached_for[number], path, __ATOMIC_RELAXED) == path) return;
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
