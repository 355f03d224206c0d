// A forked child uses the tables that threads share, whatever the threads that it does not have did with them.
#include "guard/tables_mutex.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "guard/log_table.h"
#include "guard/native_frames.h"
#include "guard/place.h"
#include "guard/prepared_rules.h"
#include "guard/raised.h"
#include "guard/scope.h"
#include "guard/threads.h"

namespace turnpike::guard {
namespace {

const Place& here() {
  static const Place place;
  return place;
}

Event event_here() {
  Event event;
  event.place = {std::shared_ptr<const Place>(), &here()};
  event.text = "a text that does not fit into the object of a string";
  return event;
}

struct Use {
  const char* name;
  bool (*works)(Scope& scope);
};

constexpr Use kUses[] = {
    {"Places",
     [](Scope&) {
       std::uintptr_t evaluator = 0;  // of a thread that has had no place lately
       return PlacesLately().find(evaluator).place != nullptr;
     }},
    {"Log",
     [](Scope& scope) {
       scope.log(event_here());
       return !scope.log_table().rows().empty();
     }},
    {"Deferred",
     [](Scope& scope) {
       Event event;
       scope.defer(event_here());
       return scope.take_deferred(event);
     }},
    {"Raised", [](Scope&) { return !find_raised(keep_raised(event_here(), true)).empty(); }},
    {"Rules", [](Scope&) { return prepare_rules("d2h=log").has_value(); }},
    {"Operators", [](Scope&) { return look_at_native_frames(false).op.empty(); }},
};

class TablesMutex : public testing::TestWithParam<Use> {};

TEST_P(TablesMutex, IsFreeInAForkedChild) {
  LogTable log;
  const auto scope = std::make_shared<Scope>(*prepare_rules("d2h=log"), log);
  const std::uint64_t block = enter(scope);  // handles forks
  GetParam().works(*scope);                  // what is made at the first use is made here
  std::atomic<bool> is_over{false};
  std::thread other([&] {
    while (!is_over.load(std::memory_order_relaxed)) GetParam().works(*scope);
  });
  int status = 0;
  for (int i = 0; i < 100 && status == 0; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(5);
      _exit(GetParam().works(*scope) ? 0 : 1);
    }
    ASSERT_EQ(waitpid(child, &status, 0), child);
  }
  is_over = true;
  other.join();
  leave(block);
  EXPECT_EQ(status, 0) << "SIGALRM (14): it hung";
}

INSTANTIATE_TEST_SUITE_P(Uses, TablesMutex, testing::ValuesIn(kUses),
                         [](const testing::TestParamInfo<Use>& use) { return std::string(use.param.name); });

}  // namespace
}  // namespace turnpike::guard
