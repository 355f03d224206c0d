// The metadata about processors, as the recorder writes it and as it may be damaged.
#include "analyze/model/cpu_use.h"

#include <gtest/gtest.h>

namespace turnpike::analyze {
namespace {

std::string told(const char* value) {
  trace::Process process;
  process.metadata["cpu"] = value;
  const auto use = cpu_use_of(process);
  return use ? idle_cores_text(*use) : "unknown";
}

TEST(CpuUse, TellsHowManyCoresHadNothingToDo) {
  EXPECT_EQ(told("cores=16 busy=2.40"), "of 16 CPU cores, 13.6 had nothing to do");
  EXPECT_EQ(told("busy=0.00 cores=0.5"), "of 0.5 CPU cores, 0.5 had nothing to do");
}

TEST(CpuUse, IsUnknownWhereTheTextIsDamaged) {
  EXPECT_FALSE(cpu_use_of({}));
  for (const char* value : {"", "cores=16", "busy=1", "cores=x busy=1", "cores=1 busy=2", "cores=1 busy=-1",
                            "cores=nan busy=nan", "cores=inf busy=1", "cores=4 busy=nan", "cores busy"}) {
    EXPECT_EQ(told(value), "unknown") << value;
  }
}

}  // namespace
}  // namespace turnpike::analyze
