// Which addresses are asked for, how often, and what is written of the answers.
#include "record/collect/host_nodes.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <vector>

namespace turnpike::record {
namespace {

constexpr std::uint64_t kHost = 0x7f0000000000;
constexpr std::uint64_t kGpu = 0x300000000;

std::vector<std::uint64_t> g_asked;
int g_refusal = 0;

int answer(std::uint64_t address) {
  g_asked.push_back(address);
  if (g_refusal != 0) return -g_refusal;
  return address >= kHost ? static_cast<int>(address / 4096 % 2) : -EFAULT;
}

trace::CallRecord copy(std::uint64_t dst, std::uint64_t src, std::uint64_t bytes = 1 << 20) {
  trace::CallRecord call{};
  call.kind = trace::CallKind::kCopy;
  call.dst = dst;
  call.src = src;
  call.bytes = bytes;
  return call;
}

class HostNodesTest : public testing::Test {
 protected:
  HostNodesTest() {
    g_asked.clear();
    g_refusal = 0;
    std::string pattern = testing::TempDir() + "host_nodes_XXXXXX";
    root_ = mkdtemp(pattern.data());
    std::filesystem::create_directories(root_ / "devices/system/node");
    online("0-1");
  }
  ~HostNodesTest() override { std::filesystem::remove_all(root_); }

  void online(const std::string& nodes) { std::ofstream(root_ / "devices/system/node/online") << nodes << "\n"; }
  // What is written of these copies.
  std::string text_of(const std::vector<trace::CallRecord>& calls) const {
    HostNodes nodes(answer, root_);
    for (const auto& call : calls) nodes.note(call);
    Metadata metadata;
    nodes.put(metadata);
    return metadata["host_memory"];
  }

  std::filesystem::path root_;
};

TEST_F(HostNodesTest, AreThoseOfHostMemory) {
  EXPECT_EQ(text_of({copy(kGpu, kHost), copy(kHost + 4096, kGpu)}), "7f0000000000@0 7f0000001000@1");
}

TEST_F(HostNodesTest, AreAskedForOnceAnAddress) {
  text_of(std::vector(100, copy(kGpu, kHost)));
  EXPECT_EQ(g_asked, (std::vector{kHost, kGpu}));
}

TEST_F(HostNodesTest, AreAskedForSoManyAddressesAtMost) {
  std::vector<trace::CallRecord> calls;
  for (std::uint64_t i = 0; i < 2000; ++i) calls.push_back(copy(kGpu, kHost + 8192 * i));
  text_of(calls);
  EXPECT_EQ(g_asked.size(), 512u);
}

TEST_F(HostNodesTest, AreOfLargeCopiesOnly) {
  auto other = copy(kGpu, kHost);
  other.kind = trace::CallKind::kHostAlloc;
  EXPECT_EQ(text_of({copy(kGpu, kHost, (1 << 20) - 1), copy(kGpu, kHost, trace::kUnknownSize), copy(0, 0), other}), "");
  EXPECT_TRUE(g_asked.empty());
}

TEST_F(HostNodesTest, AreNotAskedForWhereThereIsOneNode) {
  online("0");
  EXPECT_EQ(text_of({copy(kGpu, kHost)}), "one node");
  EXPECT_TRUE(g_asked.empty());
}

TEST_F(HostNodesTest, AreUnknownWhereTheSystemDoesNotTell) {
  g_refusal = EPERM;
  EXPECT_EQ(text_of(std::vector(9, copy(kGpu, kHost))), "unknown: move_pages: Operation not permitted");
  EXPECT_EQ(g_asked.size(), 1u) << "it is not asked again";
}

TEST_F(HostNodesTest, AreAskedOfTheKernel) {
  const std::vector<char> memory(1 << 20, 1);
  const auto address = reinterpret_cast<std::uint64_t>(memory.data());
  const int node = ask_node(address + 5000);
  EXPECT_TRUE(node >= 0 || node == -EPERM || node == -ENOSYS) << node;
  EXPECT_LT(ask_node(8), 0) << "nothing is there";
}

}  // namespace
}  // namespace turnpike::record
