// Stands for libtorch_cpu.so: the two functions by which autograd is asked, and what they answer.
#include <cstdint>
#include <memory>

namespace {

// As torch::autograd::Node begins: a vtable, std::enable_shared_from_this, the sequence number.
struct Node {
  void* vtable = nullptr;
  void* shared_from_this[2] = {};
  std::uint64_t sequence = 0;
};

std::shared_ptr<Node>& current() {
  thread_local std::shared_ptr<Node> node;
  return node;
}

}  // namespace

namespace at::sequence_number {
__attribute__((visibility("default"))) std::uint64_t peek() {
  return 71;
}
}  // namespace at::sequence_number

namespace torch::autograd {
__attribute__((visibility("default"))) std::shared_ptr<void> get_current_node() {
  return current();
}
}  // namespace torch::autograd

extern "C" __attribute__((visibility("default"))) void evaluate_node(std::uint64_t sequence) {
  current() = std::make_shared<Node>();
  current()->sequence = sequence;
}
extern "C" __attribute__((visibility("default"))) void evaluate_nothing() {
  current().reset();
}
