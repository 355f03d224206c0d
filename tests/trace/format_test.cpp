// docs/format.md draws every structure as it is in memory: other people's readers are written from that page.
#include "trace/format.h"

#include <gmock/gmock.h>

#include <cstddef>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "trace/losses.h"

namespace turnpike::trace {
namespace {

struct Field {
  std::string name;
  std::size_t offset = 0;
  std::size_t bytes = 0;
};

struct Layout {
  std::string name;
  std::size_t bytes = 0;
  std::vector<Field> fields;
};

#define AT(Struct, field)                                  \
  Field {                                                  \
    #field, offsetof(Struct, field), sizeof(Struct::field) \
  }
#define FIELDS_OF(Struct, ...) \
  Layout {                     \
    #Struct, sizeof(Struct), { \
      __VA_ARGS__              \
    }                          \
  }

std::vector<Layout> layouts_in_memory() {
  return {
      FIELDS_OF(FileHeader, AT(FileHeader, magic), AT(FileHeader, version), AT(FileHeader, header_bytes),
                AT(FileHeader, start_realtime_ns), AT(FileHeader, start_monotonic_ns), AT(FileHeader, pid),
                AT(FileHeader, parent_pid), AT(FileHeader, reserved)),
      FIELDS_OF(ChunkHeader, AT(ChunkHeader, magic), AT(ChunkHeader, type), AT(ChunkHeader, size),
                AT(ChunkHeader, crc)),
      FIELDS_OF(MetadataEntry, AT(MetadataEntry, key_bytes), AT(MetadataEntry, value_bytes)),
      FIELDS_OF(StringEntry, AT(StringEntry, id), AT(StringEntry, bytes)),
      FIELDS_OF(FrameEntry, AT(FrameEntry, id), AT(FrameEntry, kind), AT(FrameEntry, function), AT(FrameEntry, file),
                AT(FrameEntry, line), AT(FrameEntry, first_line), AT(FrameEntry, module_offset)),
      FIELDS_OF(SourceEntry, AT(SourceEntry, frame), AT(SourceEntry, function), AT(SourceEntry, file),
                AT(SourceEntry, line)),
      FIELDS_OF(SourceTextEntry, AT(SourceTextEntry, file), AT(SourceTextEntry, first_line), AT(SourceTextEntry, bytes),
                AT(SourceTextEntry, reserved), AT(SourceTextEntry, sha256)),
      FIELDS_OF(StackEntry, AT(StackEntry, id), AT(StackEntry, frame_count), AT(StackEntry, flags)),
      FIELDS_OF(ClockSample, AT(ClockSample, realtime_ns), AT(ClockSample, monotonic_ns), AT(ClockSample, cupti_ns),
                AT(ClockSample, tsc)),
      FIELDS_OF(LossEntry, AT(LossEntry, loss), AT(LossEntry, reserved), AT(LossEntry, count)),
      FIELDS_OF(EndEntry, AT(EndEntry, end_realtime_ns), AT(EndEntry, call_count), AT(EndEntry, memcpy_count),
                AT(EndEntry, memcpy_bytes), AT(EndEntry, memset_count), AT(EndEntry, kernel_count),
                AT(EndEntry, reserved)),
      FIELDS_OF(RecordHeader, AT(RecordHeader, kind), AT(RecordHeader, bytes)),
      FIELDS_OF(CallRecord, AT(CallRecord, header), AT(CallRecord, thread), AT(CallRecord, start_ns),
                AT(CallRecord, end_ns), AT(CallRecord, correlation), AT(CallRecord, stack), AT(CallRecord, name),
                AT(CallRecord, kind), AT(CallRecord, api), AT(CallRecord, autograd_role), AT(CallRecord, is_captured),
                AT(CallRecord, result), AT(CallRecord, context), AT(CallRecord, stream), AT(CallRecord, device),
                AT(CallRecord, bytes), AT(CallRecord, dst), AT(CallRecord, src), AT(CallRecord, object),
                AT(CallRecord, autograd_sequence)),
      FIELDS_OF(MemcpyRecord, AT(MemcpyRecord, header), AT(MemcpyRecord, device), AT(MemcpyRecord, start_ns),
                AT(MemcpyRecord, end_ns), AT(MemcpyRecord, bytes), AT(MemcpyRecord, correlation),
                AT(MemcpyRecord, context), AT(MemcpyRecord, stream), AT(MemcpyRecord, copy_kind),
                AT(MemcpyRecord, src_kind), AT(MemcpyRecord, dst_kind), AT(MemcpyRecord, is_async),
                AT(MemcpyRecord, src_device), AT(MemcpyRecord, dst_device), AT(MemcpyRecord, graph),
                AT(MemcpyRecord, copy_count), AT(MemcpyRecord, graph_node)),
      FIELDS_OF(MemsetRecord, AT(MemsetRecord, header), AT(MemsetRecord, device), AT(MemsetRecord, start_ns),
                AT(MemsetRecord, end_ns), AT(MemsetRecord, bytes), AT(MemsetRecord, correlation),
                AT(MemsetRecord, context), AT(MemsetRecord, stream), AT(MemsetRecord, value),
                AT(MemsetRecord, graph_node), AT(MemsetRecord, memory_kind), AT(MemsetRecord, reserved)),
      FIELDS_OF(KernelRecord, AT(KernelRecord, header), AT(KernelRecord, device), AT(KernelRecord, start_ns),
                AT(KernelRecord, end_ns), AT(KernelRecord, correlation), AT(KernelRecord, context),
                AT(KernelRecord, stream), AT(KernelRecord, name), AT(KernelRecord, graph_node), AT(KernelRecord, graph),
                AT(KernelRecord, reserved)),
      FIELDS_OF(RangeRecord, AT(RangeRecord, header), AT(RangeRecord, thread), AT(RangeRecord, end_thread),
                AT(RangeRecord, name), AT(RangeRecord, start_ns), AT(RangeRecord, end_ns), AT(RangeRecord, domain),
                AT(RangeRecord, color)),
      FIELDS_OF(DeviceRecord, AT(DeviceRecord, header), AT(DeviceRecord, device), AT(DeviceRecord, name),
                AT(DeviceRecord, multiprocessors), AT(DeviceRecord, memory_bytes), AT(DeviceRecord, pci_domain),
                AT(DeviceRecord, pci_bus), AT(DeviceRecord, pci_device), AT(DeviceRecord, numa_node)),
      FIELDS_OF(ThreadRecord, AT(ThreadRecord, header), AT(ThreadRecord, thread), AT(ThreadRecord, name),
                AT(ThreadRecord, reserved)),
      FIELDS_OF(StreamRecord, AT(StreamRecord, header), AT(StreamRecord, device), AT(StreamRecord, context),
                AT(StreamRecord, stream), AT(StreamRecord, name), AT(StreamRecord, is_default),
                AT(StreamRecord, reserved)),
      FIELDS_OF(MigrationRecord, AT(MigrationRecord, header), AT(MigrationRecord, device),
                AT(MigrationRecord, start_ns), AT(MigrationRecord, end_ns), AT(MigrationRecord, bytes),
                AT(MigrationRecord, address), AT(MigrationRecord, kind), AT(MigrationRecord, reserved)),
      FIELDS_OF(GraphNodeRecord, AT(GraphNodeRecord, header), AT(GraphNodeRecord, stack), AT(GraphNodeRecord, node),
                AT(GraphNodeRecord, cloned_from)),
      FIELDS_OF(ContentRecord, AT(ContentRecord, header), AT(ContentRecord, correlation), AT(ContentRecord, hash),
                AT(ContentRecord, bytes), AT(ContentRecord, hashed_bytes), AT(ContentRecord, address),
                AT(ContentRecord, side), AT(ContentRecord, reserved)),
      FIELDS_OF(MemoryRecord, AT(MemoryRecord, header), AT(MemoryRecord, reserved), AT(MemoryRecord, time_ns),
                AT(MemoryRecord, resident_bytes), AT(MemoryRecord, reserved2)),
      FIELDS_OF(SampleRecord, AT(SampleRecord, header), AT(SampleRecord, thread), AT(SampleRecord, time_ns),
                AT(SampleRecord, stack), AT(SampleRecord, reserved)),
      FIELDS_OF(LinkTrafficRecord, AT(LinkTrafficRecord, header), AT(LinkTrafficRecord, device),
                AT(LinkTrafficRecord, start_ns), AT(LinkTrafficRecord, end_ns), AT(LinkTrafficRecord, pcie_in_bytes),
                AT(LinkTrafficRecord, pcie_out_bytes), AT(LinkTrafficRecord, nvlink_in_bytes),
                AT(LinkTrafficRecord, nvlink_out_bytes))};
}

std::size_t bytes_of_type(const std::string& type) {
  static const std::map<std::string, std::size_t> kBytes = {
      {"u8", 1},    {"u16", 2},   {"u32", 4},     {"i32", 4},     {"u64", 8},     {"i64", 8},     {"char[8]", 8},
      {"u8[3]", 3}, {"u8[7]", 7}, {"u8[32]", 32}, {"u64[2]", 16}, {"u64[3]", 24}, {"u16, u16", 4}};
  const auto found = kBytes.find(type);
  return found == kBytes.end() ? 0 : found->second;
}

// The cells of a row `| a | b |`.
std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream stream(line.substr(2));
  for (std::string cell; std::getline(stream, cell, '|');) {
    if (cell.starts_with(' ')) cell.erase(0, 1);
    if (cell.ends_with(' ')) cell.pop_back();
    cells.push_back(cell);
  }
  return cells;
}

std::vector<std::string> lines_of_page() {
  std::vector<std::string> lines;
  std::ifstream page(TURNPIKE_FORMAT_PAGE);
  for (std::string line; std::getline(page, line);) lines.push_back(line);
  return lines;
}

// The table under the line `NAME: N bytes`.
Layout drawn_layout(const std::string& name) {
  Layout layout{name, 0, {}};
  bool is_inside = false;
  for (const std::string& line : lines_of_page()) {
    if (line.starts_with(name + ": ")) {
      is_inside = true;
      layout.bytes = std::stoul(line.substr(name.size() + 2));
    } else if (is_inside && line.starts_with("| ") && !line.starts_with("| offset")) {
      const auto cells = cells_of(line);
      layout.fields.push_back({cells.at(2), std::stoul(cells.at(0)), bytes_of_type(cells.at(1))});
    } else if (is_inside && line.empty() && !layout.fields.empty()) {
      break;
    }
  }
  return layout;
}

TEST(Format, PageDrawsEveryStructureAsItIsInMemory) {
  for (const Layout& layout : layouts_in_memory()) {
    SCOPED_TRACE(layout.name);
    const Layout drawn = drawn_layout(layout.name);
    EXPECT_EQ(drawn.bytes, layout.bytes);
    ASSERT_EQ(drawn.fields.size(), layout.fields.size());
    for (std::size_t i = 0; i < layout.fields.size(); ++i) {
      EXPECT_EQ(drawn.fields[i].name, layout.fields[i].name);
      EXPECT_EQ(drawn.fields[i].offset, layout.fields[i].offset) << layout.fields[i].name;
      EXPECT_EQ(drawn.fields[i].bytes, layout.fields[i].bytes) << layout.fields[i].name;
    }
  }
}

TEST(Format, StructuresHaveNoHolesAndMultiplesOfEightBytes) {
  for (const Layout& layout : layouts_in_memory()) {
    SCOPED_TRACE(layout.name);
    std::size_t end = 0;
    for (const Field& field : layout.fields) {
      EXPECT_EQ(field.offset, end) << field.name;
      end = field.offset + field.bytes;
    }
    EXPECT_EQ(end, layout.bytes);
    // The header of a record is never alone.
    EXPECT_EQ(layout.bytes % (layout.name == "RecordHeader" ? 4 : 8), 0u);
  }
}

TEST(Format, PageNamesEveryLoss) {
  const auto lines = lines_of_page();
  for (const LossInfo& info : all_losses()) {
    const std::string row =
        "| " + std::to_string(static_cast<unsigned>(info.loss)) + " | " + std::string(info.name) + " | ";
    EXPECT_THAT(lines, testing::Contains(testing::StartsWith(row)));
  }
}

}  // namespace
}  // namespace turnpike::trace
