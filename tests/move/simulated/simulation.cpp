// The side of the simulated driver that tests see.
#include "simulated/simulation.h"

#include "simulated/call.h"

namespace turnpike::simulated {

Simulation::Simulation(std::uint64_t seed, const Options& options)
    : machine_(std::make_unique<Machine>(seed, options)) {
  g_machine = machine_.get();
  fill_device_calls(driver_);
  fill_memory_calls(driver_);
  fill_copy_calls(driver_);
  fill_stream_calls(driver_);
  fill_event_calls(driver_);
}

Simulation::~Simulation() {
  machine_.reset();
  g_machine = nullptr;
}

void Simulation::set_device(int device) {
  std::vector<int>& contexts = contexts_of_this_thread();
  contexts.clear();
  if (device == kHost) return;
  contexts.push_back(device);
  const auto lock = machine_->lock();
  machine_->is_programs[static_cast<std::size_t>(device)] = true;
}

int Simulation::current_device() const {
  const std::vector<int>& contexts = contexts_of_this_thread();
  return contexts.empty() ? kHost : contexts.back();
}

CUstream_st* Simulation::make_stream(int device, bool is_blocking) {
  const auto lock = machine_->lock();
  return machine_->add_stream(device, is_blocking, true).handle;
}

CUevent_st* Simulation::make_event(int device) {
  const auto lock = machine_->lock();
  return machine_->add_event(device, false, true).handle;
}

std::uint64_t Simulation::device_memory(int device, std::size_t size_bytes) {
  const auto lock = machine_->lock();
  Block& block = machine_->memory.add_device(device, size_bytes, machine_->poison);
  block.is_the_tests = true;
  return block.range.begin;
}

std::byte* Simulation::pinned_memory(std::size_t size_bytes) {
  const auto lock = machine_->lock();
  Block& block = machine_->memory.add_host(size_bytes, machine_->poison);
  block.is_the_tests = true;
  block.is_portable = true;
  return block.bytes;
}

void Simulation::free_memory(std::uint64_t address) {
  auto lock = machine_->lock();
  const Block* block = machine_->memory.starting_at(address);
  if (block == nullptr) {
    machine_->report(Rule::kUnknownMemory, "the program gives back what was not taken");
    return;
  }
  machine_->check_unused(*block, "the program", lock);
  machine_->remove(*block);
}

void Simulation::launch(int device, CUstream_st* handle, Kernel kernel) {
  const auto lock = machine_->lock();
  machine_->drift();
  Stream* stream = machine_->stream_of(handle, device, "launch");
  if (stream == nullptr) return;
  auto operation = std::make_shared<Operation>();
  operation->kind = Kind::kKernel;
  operation->what = std::move(kernel.name);
  operation->steps_left = kernel.steps;
  operation->body = std::move(kernel.body);
  std::vector<Access> accesses;
  const auto add = [&](const std::vector<Range>& ranges, bool is_write, bool is_scratch) {
    for (const Range range : ranges) {
      const Block* block = machine_->memory.holding(range);
      if (block == nullptr) {
        machine_->report(Rule::kOutOfRange, operation->what + " leaves the memory that there is");
      } else if (is_scratch) {
        operation->scratch.emplace_back(block->bytes + (range.begin - block->range.begin), range.end - range.begin);
      }
      accesses.push_back({range, is_write, {}, {}});
    }
  };
  add(kernel.reads, false, false);
  add(kernel.writes, true, true);
  add(kernel.updates, true, false);
  machine_->issue(*stream, std::move(operation), accesses);
}

std::byte* Simulation::bytes(std::uint64_t address) {
  std::unique_lock<std::mutex> lock;
  if (!Machine::is_in_body()) lock = machine_->lock();
  Block* block = machine_->memory.holding({address, address});
  return block == nullptr ? nullptr : block->bytes + (address - block->range.begin);
}

std::shared_ptr<Operation> Simulation::hold(int device, CUstream_st* handle) {
  const auto lock = machine_->lock();
  auto operation = std::make_shared<Operation>();
  operation->kind = Kind::kHold;
  operation->what = "a long kernel";
  if (Stream* stream = machine_->stream_of(handle, device, "hold")) machine_->issue(*stream, operation, {});
  return operation;
}

void Simulation::let_go(const std::shared_ptr<Operation>& hold) {
  const auto lock = machine_->lock();
  machine_->let_go(*hold);
}

void Simulation::begin_capture(CUstream_st* handle, int device, int mode) {
  const auto lock = machine_->lock();
  if (Stream* stream = machine_->stream_of(handle, device, "begin_capture")) {
    stream->is_captured = true;
    machine_->capturing_thread = this_thread();
    machine_->capture_mode = mode;
    machine_->captured_device = device;
  }
}

void Simulation::end_capture() {
  const auto lock = machine_->lock();
  for (const auto& stream : machine_->streams()) stream->is_captured = false;
  machine_->capturing_thread = 0;
}

int Simulation::capture_mode() const {
  return capture_mode_of_this_thread();
}

bool Simulation::is_opened(int device) const {
  const auto lock = machine_->lock();
  return machine_->retained[static_cast<std::size_t>(device)] > 0;
}

void Simulation::fail(const std::string& function, std::size_t nth, cuda::DriverCode code) {
  const auto lock = machine_->lock();
  machine_->failures[function] = {machine_->calls[function] + nth, code};
}

void Simulation::forget_failures() {
  const auto lock = machine_->lock();
  machine_->failures.clear();
}

std::size_t Simulation::calls(const std::string& function) const {
  const auto lock = machine_->lock();
  return machine_->calls[function];
}

std::map<std::string, std::size_t> Simulation::calls() const {
  const auto lock = machine_->lock();
  return machine_->calls;
}

void Simulation::finish() {
  auto lock = machine_->lock();
  machine_->wait_for_all(lock);
  for (const auto& [begin, block] : machine_->memory.blocks()) machine_->check_unused(block, "finish", lock);
}

std::vector<Violation> Simulation::violations() const {
  const auto lock = machine_->lock();
  return machine_->violations;
}

std::string Simulation::violations_text() const {
  std::string text;
  for (const Violation& violation : violations()) {
    text += std::string(name_of(violation.rule)) + ": " + violation.sentence + "\n";
  }
  return text;
}

bool Simulation::has_violation(Rule rule) const {
  for (const Violation& violation : violations()) {
    if (violation.rule == rule) return true;
  }
  return false;
}

void Simulation::forget_violations() {
  const auto lock = machine_->lock();
  machine_->violations.clear();
}

std::string Simulation::leaks() const {
  const auto lock = machine_->lock();
  std::string text;
  for (const auto& [begin, block] : machine_->memory.blocks()) {
    if (block.is_the_tests) continue;
    text += std::to_string(block.size_bytes()) + " bytes of " +
            (block.device == kHost ? "the host" : "device " + std::to_string(block.device)) + "\n";
  }
  for (const auto& stream : machine_->streams()) {
    if (!stream->is_the_tests && !stream->is_destroyed) text += "stream " + std::to_string(stream->index) + "\n";
  }
  for (const auto& [handle, event] : machine_->events()) {
    if (!event->is_the_tests && !event->is_destroyed) text += "an event\n";
  }
  for (std::size_t device = 0; device < machine_->retained.size(); ++device) {
    if (machine_->retained[device] != 0) text += "the context of device " + std::to_string(device) + "\n";
  }
  return text;
}

std::size_t Simulation::pinned_bytes() const {
  const auto lock = machine_->lock();
  return machine_->pinned_bytes;
}

std::size_t Simulation::most_pinned_bytes() const {
  const auto lock = machine_->lock();
  return machine_->most_pinned_bytes;
}

}  // namespace turnpike::simulated
