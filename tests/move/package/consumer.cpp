// Opens the engine of an installed Turnpike. Exit 0: it opened, or said why it cannot; 1: settings out of range passed.
#include <turnpike/move.h>

#include <cstdio>

int main() {
  const auto refused = turnpike::move::Engine::open({.threads = 0});
  if (refused || refused.error().message.empty()) return 1;
  const auto engine = turnpike::move::Engine::open();
  std::puts(engine ? "opened" : engine.error().message.c_str());
}
