// One function per table.
#include "ingest/nsys/target.h"

#include <charconv>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "ingest/nsys/enums.h"
#include "trace/make_record.h"

namespace turnpike::ingest {
namespace {

constexpr char kArgumentSeparator = '\x1f';

struct Gpu {
  std::uint32_t name = trace::kNoId;
  std::uint32_t multiprocessors = 0;
  std::uint64_t memory_bytes = 0;
  std::uint32_t pci_domain = 0;
  std::uint8_t pci_bus = 0;
  std::uint8_t pci_device = 0;
};

// "0000:18:00.0" in hexadecimal.
void read_bus_location(std::string_view text, Gpu& gpu) {
  std::uint32_t parts[3] = {};
  for (std::uint32_t& part : parts) {
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), part, 16);
    if (failed != std::errc{}) return;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (!text.empty()) text.remove_prefix(1);
  }
  if (parts[1] > 0xFF || parts[2] > 0xFF) return;
  gpu.pci_domain = parts[0];
  gpu.pci_bus = static_cast<std::uint8_t>(parts[1]);
  gpu.pci_device = static_cast<std::uint8_t>(parts[2]);
}

std::map<std::int64_t, Gpu> read_gpus(NsysExport& from) {
  std::map<std::int64_t, Gpu> gpus;
  from.scan("TARGET_INFO_GPU", {"id", "name", "busLocation", "totalMemory", "smCount"}, 2, [&](SqliteRow& row) {
    const std::int64_t id = row.needed_integer(0);
    const auto name = row.text(1);
    const auto bus_location = row.text(2);
    const auto memory_bytes = row.integer(3);
    const auto multiprocessors = row.integer(4);
    if (!row.is_readable()) return;
    Gpu gpu;
    if (name) gpu.name = from.names.intern(*name);
    if (bus_location) read_bus_location(*bus_location, gpu);
    gpu.memory_bytes = static_cast<std::uint64_t>(std::max<std::int64_t>(memory_bytes.value_or(0), 0));
    gpu.multiprocessors = id_or_unknown(multiprocessors) == trace::kUnknownId ? 0 : id_or_unknown(multiprocessors);
    gpus.try_emplace(id, gpu);
  });
  return gpus;
}

void give_device(NsysProcess& process, std::uint32_t device, const Gpu& gpu) {
  auto record = trace::make_record<trace::DeviceRecord>(trace::RecordKind::kDevice);
  record.device = device;
  record.name = process.use(gpu.name);
  record.multiprocessors = gpu.multiprocessors;
  record.memory_bytes = gpu.memory_bytes;
  record.pci_domain = gpu.pci_domain;
  record.pci_bus = gpu.pci_bus;
  record.pci_device = gpu.pci_device;
  record.numa_node = trace::kUnknownNode;
  process.sink.on(record);
}

// Events number devices as their process saw them (CUDA_VISIBLE_DEVICES), the table of GPUs as the machine has them.
// Devices that worked and that nothing tells more of are given all the same, without a name.
void give_devices(NsysExport& from) {
  const auto gpus = read_gpus(from);
  bool is_mapped = false;
  const auto give = [&](NsysProcess& process, std::uint32_t device, const Gpu& gpu) {
    process.devices.erase(device);
    give_device(process, device, gpu);
  };
  from.scan("TARGET_INFO_CUDA_DEVICE", {"gpuId", "cudaId", "pid"}, 3, [&](SqliteRow& row) {
    const auto gpu = gpus.find(row.needed_integer(0));
    const std::uint32_t device = id_or_unknown(row.needed_integer(1));
    const std::int64_t pid = row.needed_integer(2);
    if (!row.is_readable() || gpu == gpus.end()) return;
    is_mapped = true;
    for (NsysProcess& process : from.processes.all()) {
      if (process.process.pid == pid) give(process, device, gpu->second);
    }
  });
  for (NsysProcess& process : from.processes.all()) {
    // Old exports have no such table: the numbers are the same where nothing was hidden from the process.
    for (const auto& [id, gpu] : gpus) {
      if (!is_mapped) give(process, id_or_unknown(id), gpu);
    }
    for (const std::uint32_t device : process.devices) give_device(process, device, {});
  }
}

struct Context {
  std::uint32_t null_stream;
  std::uint32_t device;
};
using Contexts = std::unordered_map<InProcess, Context, InProcessHash>;

Contexts read_contexts(NsysExport& from) {
  Contexts contexts;
  from.scan("TARGET_INFO_CUDA_CONTEXT_INFO", {"contextId", "processId", "nullStreamId", "deviceId", "hwId", "vmId"}, 3,
            [&](SqliteRow& row) {
              const std::int64_t context = row.needed_integer(0);
              const std::int64_t pid = row.needed_integer(1);
              const Context facts{id_or_unknown(row.needed_integer(2)), id_or_unknown(row.integer(3))};
              const ProcessKey process = process_of(row.integer(4).value_or(0), row.integer(5).value_or(0), pid);
              if (row.is_readable()) contexts[{process, static_cast<std::uint64_t>(context)}] = facts;
            });
  return contexts;
}

void give_stream(NsysProcess& process, std::uint32_t context, std::uint32_t stream, std::uint32_t device,
                 bool is_default) {
  auto record = trace::make_record<trace::StreamRecord>(trace::RecordKind::kStream);
  record.device = device;
  record.context = context;
  record.stream = stream;
  record.is_default = is_default ? 1 : 0;
  process.sink.on(record);
}

void give_streams(NsysExport& from) {
  const Contexts contexts = read_contexts(from);
  for (const auto& [key, context] : contexts) {
    NsysProcess* process = from.processes.find(key.process);
    if (process != nullptr) {
      give_stream(*process, id_or_unknown(static_cast<std::int64_t>(key.number)), context.null_stream, context.device,
                  true);
    }
  }
  const NsysEnum<bool> is_null_stream(from, "ENUM_CUPTI_STREAM_TYPE",
                                      {{"CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NULL", "Null stream", 3, true}}, false);
  from.scan("TARGET_INFO_CUDA_STREAM", {"streamId", "processId", "contextId", "flag", "hwId", "vmId"}, 3,
            [&](SqliteRow& row) {
              const std::uint32_t stream = id_or_unknown(row.needed_integer(0));
              const std::int64_t pid = row.needed_integer(1);
              const std::int64_t context = row.needed_integer(2);
              const bool is_default = is_null_stream.of(row.integer(3).value_or(0));
              const ProcessKey key = process_of(row.integer(4).value_or(0), row.integer(5).value_or(0), pid);
              NsysProcess* process = from.processes.find(key);
              if (!row.is_readable() || process == nullptr) return;
              const auto known = contexts.find({key, static_cast<std::uint64_t>(context)});
              if (known != contexts.end() && known->second.null_stream == stream) return;  // given above
              give_stream(*process, id_or_unknown(context), stream,
                          known == contexts.end() ? trace::kUnknownId : known->second.device, is_default);
            });
}

void give_thread_names(NsysExport& from) {
  from.scan("ThreadNames", {"globalTid", "nameId"}, 2, [&](SqliteRow& row) {
    const auto thread = row.integer(0);
    const std::int64_t name = row.needed_integer(1);
    if (!row.is_readable() || !thread) return;
    NsysProcess* process = from.processes.find(process_of(*thread));
    if (process == nullptr) return;
    auto record = trace::make_record<trace::ThreadRecord>(trace::RecordKind::kThread);
    record.thread = thread_of(*thread);
    record.name = process->use(from.names.of_string_id(name));
    process->sink.on(record);
  });
}

// Pairs of name and value; names repeat.
struct Entry {
  std::string name;
  std::string value;
};
std::vector<Entry> read_entries(NsysExport& from, const char* table) {
  std::vector<Entry> entries;
  from.scan(table, {"name", "value"}, 2, [&](SqliteRow& row) {
    const auto name = row.text(0);
    const auto value = row.text(1);
    if (row.is_readable() && name && value) entries.push_back({std::string(*name), std::string(*value)});
  });
  return entries;
}

// Of the process that Nsight Systems started. Its arguments are numbered, and stand in no order.
using Metadata = std::map<std::string, std::string>;
Metadata metadata_of_capture(NsysExport& from) {
  constexpr std::string_view kArgument = "PROCESS_0:ARGUMENT_";
  constexpr std::string_view kVariable = "PROCESS_0:ENVIRONMENT_VARIABLE";
  Metadata metadata;
  std::map<std::uint32_t, std::string> arguments;
  std::string command;
  for (const auto& [name, value] : read_entries(from, "META_DATA_CAPTURE")) {
    if (name == "PROCESS_0:COMMAND") command = value;
    if (name == "PROCESS_0:WORKING_DIR") metadata["cwd"] = value;
    if (name.starts_with(kArgument)) {
      std::uint32_t number = 0;
      const char* digits = name.data() + kArgument.size();
      if (std::from_chars(digits, name.data() + name.size(), number).ec == std::errc{}) arguments[number] = value;
    }
    if (name != kVariable) continue;
    // NAME="value"
    for (const auto& [variable, key] : {std::pair{"RANK=\"", "rank"}, std::pair{"LOCAL_RANK=\"", "local_rank"},
                                        std::pair{"WORLD_SIZE=\"", "world_size"}}) {
      const std::string_view start = variable;
      if (value.starts_with(start) && value.size() > start.size() + 1) {
        metadata[key] = value.substr(start.size(), value.size() - start.size() - 1);
      }
    }
  }
  if (command.empty()) return metadata;
  for (const auto& [number, argument] : arguments) command += kArgumentSeparator + argument;
  metadata["program"] = command;
  return metadata;
}

// MPI says the rank of a thread's process.
void read_ranks(NsysExport& from) {
  from.scan("MPI_RANKS", {"globalTid", "rank"}, 2, [&](SqliteRow& row) {
    const std::int64_t thread = row.needed_integer(0);
    const std::int64_t rank = row.needed_integer(1);
    NsysProcess* process = from.processes.find(process_of(thread));
    if (row.is_readable() && process != nullptr) process->process.metadata["rank"] = std::to_string(rank);
  });
}

void read_metadata(NsysExport& from) {
  Metadata metadata = metadata_of_capture(from);
  for (const auto& [name, value] : read_entries(from, "META_DATA_EXPORT")) {
    if (name == "EXPORT_PRODUCT_VERSION") metadata["nsight_systems_version"] = value;
    if (name == "EXPORT_SCHEMA_VERSION") metadata["nsys_schema_version"] = value;
  }
  from.scan("TARGET_INFO_SYSTEM_ENV", {"name", "value"}, 2, [&](SqliteRow& row) {
    const auto name = row.text(0);
    const auto value = row.text(1);
    if (row.is_readable() && name == "Hostname" && value) metadata["host"] = std::string(*value);
  });
  // The environment is that of the process that Nsight Systems started: with several of them its rank is not theirs.
  if (from.processes.all().size() > 1) {
    for (const char* key : {"rank", "local_rank"}) metadata.erase(key);
  }
  for (NsysProcess& process : from.processes.all()) {
    process.process.metadata = metadata;
    if (const auto start_ns = from.start_realtime_ns()) process.process.start_realtime_ns = *start_ns;
  }
  read_ranks(from);
}

}  // namespace

void describe_target(NsysExport& from) {
  give_devices(from);
  give_streams(from);
  give_thread_names(from);
  read_metadata(from);
}

}  // namespace turnpike::ingest
