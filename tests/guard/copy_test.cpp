// What a copy is besides its direction, and which uploads are known by their bytes.
#include "guard/copy.h"

#include <gtest/gtest.h>

#include <vector>

#include "guard/place.h"
#include "guard/repeats.h"

namespace turnpike::guard {
namespace {

constexpr Memory kGpu0{Side::kGpu, HostMemory::kNone, 0};
constexpr Memory kGpu1{Side::kGpu, HostMemory::kNone, 1};
constexpr Memory kPageable{Side::kHost, HostMemory::kPageable, -1};
constexpr Memory kPinned{Side::kHost, HostMemory::kPinned, -1};

Crossing copied(const Memory& to, const Memory& from, Waits waits = Waits::kNever) {
  return make_copy("cudaMemcpy", to, from, 64, &kGpu0, waits);
}

Kinds kinds(std::initializer_list<Kind> each) {
  Kinds all;
  for (const Kind kind : each) all.add(kind);
  return all;
}

TEST(Copy, HasTheDirectionAndTheMemoryOfItsSides) {
  const Crossing up = copied(kGpu0, kPinned);
  EXPECT_STREQ(up.call, "cudaMemcpy");
  EXPECT_EQ(up.kind, Kind::kH2d);
  EXPECT_EQ(up.bytes, 64u);
  EXPECT_EQ(up.stream, &kGpu0);
  EXPECT_EQ(up.host_memory, HostMemory::kPinned);
  EXPECT_EQ(copied(kPageable, kGpu0).kind, Kind::kD2h);
  EXPECT_EQ(copied(kPageable, kGpu0).host_memory, HostMemory::kPageable);
  EXPECT_EQ(copied(kGpu0, kGpu0).kind, Kind::kD2d);
  EXPECT_EQ(copied(kGpu0, kGpu0).host_memory, HostMemory::kNone);
  EXPECT_EQ(copied(kGpu0, kGpu1).kind, Kind::kP2p);
  EXPECT_EQ(copied(kPinned, kPageable).kind, Kind::kH2h);
  EXPECT_EQ(copied(kPinned, kPageable).host_memory, HostMemory::kPageable) << "of the source";
}

TEST(Copy, IsOfTheKindsThatRulesNameItBy) {
  using enum Kind;
  EXPECT_EQ(copied(kGpu0, kPinned).kinds.bits(), kinds({kH2d}).bits());
  EXPECT_EQ(copied(kGpu0, turnpike::guard::kSomeHost).kinds.bits(), kinds({kH2d}).bits());
  EXPECT_EQ(copied(kGpu0, Memory{}).kinds.bits(), kinds({kH2d, Kind::kPageable}).bits());
  EXPECT_EQ(copied(kPinned, kGpu0, Waits::kForItsEnd).kinds.bits(), kinds({kD2h, kSync}).bits());
  EXPECT_EQ(copied(Memory{}, kGpu0, Waits::kForItsEnd).kinds.bits(), kinds({kD2h, kSync, Kind::kPageable}).bits());
  EXPECT_EQ(copied(kGpu0, kGpu1, Waits::kForItsEnd).kinds.bits(), kinds({kP2p}).bits());
  EXPECT_EQ(copied(Memory{}, kPinned).kinds.bits(), kinds({kH2h, Kind::kPageable}).bits());
  EXPECT_EQ(copied(kPinned, Memory{}).kinds.bits(), kinds({kH2h, Kind::kPageable}).bits());
  EXPECT_EQ(copied(kPinned, kPinned).kinds.bits(), kinds({kH2h}).bits());
}

TEST(Copy, IsADirectionUpToTheHosts) {
  for (const Kind kind : {Kind::kH2d, Kind::kD2h, Kind::kD2d, Kind::kP2p, Kind::kH2h}) EXPECT_TRUE(is_copy(kind));
  for (const Kind kind : {Kind::kSync, Kind::kPageable, Kind::kAlloc, Kind::kRepeat}) EXPECT_FALSE(is_copy(kind));
}

TEST(Kinds, AreASetInTheOrderOfKind) {
  std::vector<Kind> seen;
  kinds({Kind::kSync, Kind::kH2d, Kind::kRepeat}).each([&](Kind kind) {
    seen.push_back(kind);
    return kind != Kind::kSync;
  });
  EXPECT_EQ(seen, (std::vector{Kind::kH2d, Kind::kSync})) << "until it is enough";
  EXPECT_TRUE(Kinds().is_empty());
  EXPECT_FALSE(Kinds(Kind::kH2d).is_empty());
  EXPECT_EQ((Kinds::all() & Kinds(Kind::kAlloc)).bits(), Kinds(Kind::kAlloc).bits());
  EXPECT_TRUE(Kinds::all().has(Kind::kRepeat));
  EXPECT_FALSE(Kinds(Kind::kH2d).meets(Kind::kD2h));
  EXPECT_TRUE(kinds({Kind::kH2d, Kind::kD2h}).meets(Kind::kD2h));
  for (std::size_t i = 0; i < kKindCount; ++i) EXPECT_EQ(kind_of(kKindNames[i]), static_cast<Kind>(i));
  EXPECT_EQ(kind_of("h2x"), std::nullopt);
}

TEST(Repeats, AreOfUploadsWhoseBytesCanBeLookedAt) {
  std::vector<char> bytes(64, 'x');
  const auto can_repeat = [&](auto change) {
    Crossing crossing = copied(kGpu0, kPinned);
    change(crossing);
    note_contents(crossing, &bytes[1], bytes.data());
    EXPECT_EQ(crossing.source == bytes.data(), crossing.kinds.has(Kind::kRepeat));
    EXPECT_EQ(crossing.target == &bytes[1], crossing.kinds.has(Kind::kRepeat));
    return crossing.kinds.has(Kind::kRepeat);
  };
  EXPECT_TRUE(can_repeat([](Crossing&) {}));
  EXPECT_FALSE(can_repeat([](Crossing& crossing) { crossing.bytes = 63; }));
  EXPECT_FALSE(can_repeat([](Crossing& crossing) { crossing.is_captured = true; }));
  EXPECT_FALSE(can_repeat([](Crossing& crossing) { crossing.host_memory = HostMemory::kManaged; }));
  EXPECT_FALSE(can_repeat([](Crossing& crossing) { crossing.kind = Kind::kD2h; }));
}

TEST(Repeats, AreOfOneLineAndTheSameBytes) {
  std::vector<char> bytes(100, 'x');
  Crossing crossing = copied(kGpu0, kPinned);
  crossing.bytes = bytes.size();
  note_contents(crossing, nullptr, bytes.data());
  Place place;
  place.file = "/train.py";
  place.line = 3;
  EXPECT_FALSE(went_up_before(crossing, place));
  EXPECT_TRUE(went_up_before(crossing, place));
  place.line = 4;
  EXPECT_FALSE(went_up_before(crossing, place));
  place.file = "/other.py";
  EXPECT_FALSE(went_up_before(crossing, place));
  bytes[50] = 'y';
  EXPECT_FALSE(went_up_before(crossing, place));
  EXPECT_TRUE(went_up_before(crossing, place));
  crossing.bytes = 99;
  EXPECT_FALSE(went_up_before(crossing, place));
  crossing.source = reinterpret_cast<const void*>(8);
  EXPECT_FALSE(went_up_before(crossing, place));
  EXPECT_FALSE(went_up_before(crossing, place)) << "nobody can look there";
}

}  // namespace
}  // namespace turnpike::guard
