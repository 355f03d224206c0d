// By the names and states that the system has of threads.
#include "record/other_threads.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <string_view>

#include "base/file_text.h"

namespace turnpike::record {
namespace {

enum class Use { kNone, kPerhapsNow, kAtAnyTime };

// PyTorch's own threads, which call CUDA for whoever uses them, and NCCL's. The thread that imports PyTorch is renamed
// to pt_main_thread, and those that it starts inherit that: the name says nothing.
bool is_of_cuda_user(std::string_view name) {
  return (name.starts_with("pt_") && name != "pt_main_thread") || name.find("nccl") != std::string_view::npos ||
         name.find("NCCL") != std::string_view::npos;
}

// "17 (name) S ...": the name may have brackets and spaces.
struct Status {
  std::string_view name;
  bool is_asleep = false;
};
Status to_status(std::string_view line) {
  const auto begin = line.find('(');
  const auto end = line.rfind(')');
  if (begin == line.npos || end == line.npos || end < begin || end + 2 >= line.size()) return {};
  const char state = line[end + 2];
  return {line.substr(begin + 1, end - begin - 1), state == 'S' || state == 'Z' || state == 'X'};
}

// By one file, read once: of a name that cannot be read nothing would be known.
Use use_of(const std::filesystem::path& task, bool is_heard) {
  const std::string line = first_line_of(task / "stat");
  if (line.empty() && !std::filesystem::exists(task)) return Use::kNone;  // it has ended
  const auto [name, is_asleep] = to_status(line);
  const bool is_autograd = name.starts_with("pt_autograd_");
  if (!is_autograd && (is_heard || is_of_cuda_user(name))) return Use::kAtAnyTime;
  return is_asleep ? Use::kNone : Use::kPerhapsNow;
}

// nullopt: nobody knows.
std::optional<std::vector<std::uint32_t>> ids_in(const std::string& tasks) {
  std::vector<std::uint32_t> ids;
  std::error_code failure;
  std::filesystem::directory_iterator task(tasks, failure);
  for (; !failure && task != std::filesystem::directory_iterator(); task.increment(failure)) {
    const std::string text = task->path().filename();
    std::from_chars(text.data(), text.data() + text.size(), ids.emplace_back());
  }
  if (failure) return std::nullopt;
  return ids;
}

Use most_of(const std::vector<std::uint32_t>& heard, const std::string& tasks) {
  const auto self = static_cast<std::uint32_t>(syscall(SYS_gettid));
  const auto ids = ids_in(tasks);
  if (!ids) return Use::kAtAnyTime;
  Use most = Use::kNone;
  for (const std::uint32_t id : *ids) {
    if (id == self) continue;
    const bool is_heard = std::find(heard.begin(), heard.end(), id) != heard.end();
    most = std::max(most, use_of(std::filesystem::path(tasks) / std::to_string(id), is_heard));
  }
  // Where a thread ends meanwhile, Linux may leave out those that are listed behind it. It is in such a list itself,
  // and in none after it: a list that comes out twice is whole.
  return ids_in(tasks) == ids ? most : std::max(most, Use::kPerhapsNow);
}

}  // namespace

bool may_others_call_cuda(const std::vector<std::uint32_t>& heard, const std::string& tasks) {
  constexpr int kTries = 10;
  for (int i = 0; i < kTries; ++i) {
    const Use use = most_of(heard, tasks);
    if (use != Use::kPerhapsNow) return use == Use::kAtAnyTime;
    const timespec pause{0, 2'000'000};
    nanosleep(&pause, nullptr);
  }
  return true;
}

}  // namespace turnpike::record
