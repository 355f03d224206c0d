// Looks through /proc/PID/fd.
#include "cli/live_process.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

#include "machine/link_limit.h"

namespace turnpike::cli {
namespace {

namespace fs = std::filesystem;
using record::LivePage;

constexpr const char* kOtherVersion = "its recorder is of another version of Turnpike";

template <std::size_t kSize>
void end_text(char (&text)[kSize]) {
  text[kSize - 1] = '\0';
}

bool read_at(int file, void* to, std::size_t size, std::size_t offset) {
  return pread(file, to, size, static_cast<off_t>(offset)) == static_cast<ssize_t>(size);
}

// Consistent, or nothing: the writer is at it for some microseconds at most, unless it was killed amid it. Read, not
// mapped: its owner may cut it at any time.
bool copy_page(int file, LivePage& page) {
  constexpr std::size_t kOffset = record::kLiveSequenceWord * sizeof(std::uint64_t);
  for (int attempt = 0; attempt < 20; ++attempt) {
    std::uint64_t before = 0, after = 0;
    if (!read_at(file, &before, sizeof(before), kOffset)) return false;
    std::atomic_thread_fence(std::memory_order_acquire);
    if (!read_at(file, &page, sizeof(page), 0)) return false;
    std::atomic_thread_fence(std::memory_order_acquire);
    if (!read_at(file, &after, sizeof(after), kOffset)) return false;
    if (before % 2 == 0 && before > 0 && before == after) return true;
    usleep(200);
  }
  return false;
}

std::optional<LiveProcess> read_page(std::uint32_t pid, const fs::path& descriptor) {
  const int file = open(descriptor.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return std::nullopt;
  struct stat about{};
  LiveProcess process{pid, nullptr, {}};
  const auto page = std::make_unique<LivePage>();
  if (fstat(file, &about) != 0 || !S_ISREG(about.st_mode) || about.st_size != sizeof(LivePage)) {
    process.problem = kOtherVersion;
  } else if (!copy_page(file, *page)) {
    process.problem = "its page is not written to its end";
  } else {
    process.page = checked_page(page.get(), sizeof(LivePage), process.problem);
  }
  close(file);
  // A recording that begins has none for a moment.
  if (!process.page && about.st_size == 0) return std::nullopt;
  return process;
}

// The id that the process has in its own namespace: what it calls itself.
std::uint32_t own_pid(std::uint32_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with("NSpid:")) continue;
    return static_cast<std::uint32_t>(std::strtoul(line.c_str() + line.find_last_of("\t "), nullptr, 10));
  }
  return pid;
}

}  // namespace

std::shared_ptr<const LivePage> checked_page(const void* bytes, std::size_t size, std::string& problem) {
  if (size != sizeof(LivePage)) {
    problem = kOtherVersion;
    return nullptr;
  }
  auto page = std::make_shared<LivePage>();
  std::memcpy(page.get(), bytes, size);
  if (page->magic != record::kLivePageMagic || page->version != record::kLivePageVersion ||
      page->struct_bytes != sizeof(LivePage)) {
    problem = kOtherVersion;
    return nullptr;
  }
  end_text(page->program);
  end_text(page->file);
  end_text(page->host);
  end_text(page->rank);
  end_text(page->local_rank);
  end_text(page->world_size);
  end_text(page->job_id);
  page->device_count = std::min(page->device_count, LivePage::kMostDevices);
  page->site_count = std::min(page->site_count, LivePage::kMostSites);
  for (record::LiveDevice& device : page->devices) {
    end_text(device.name);
    end_text(device.link);
  }
  for (record::LiveSite& site : page->sites) {
    end_text(site.file);
    end_text(site.function);
    end_text(site.op);
    if (site.direction > record::kLiveSync) site.direction = record::kLiveSync;
  }
  if (page->state != record::LiveState::kRecording) page->state = record::LiveState::kStopped;
  return page;
}

std::optional<LiveProcess> live_process(std::uint32_t pid) {
  std::error_code failed;
  struct stat owner{};
  const fs::path folder = "/proc/" + std::to_string(pid);
  if (stat(folder.c_str(), &owner) != 0 || owner.st_uid != geteuid()) return std::nullopt;
  const std::string name = std::string("/memfd:") + record::kLivePageName;
  std::optional<LiveProcess> found;
  for (fs::directory_iterator at(folder / "fd", failed), end; !failed && at != end; at.increment(failed)) {
    std::error_code unreadable;
    if (!fs::read_symlink(at->path(), unreadable).string().starts_with(name)) continue;
    auto process = read_page(pid, at->path());
    // A forked child has its parent's, too.
    if (process && process->page && process->page->pid != own_pid(pid)) continue;
    if (process && (!found || process->page)) found = std::move(process);
  }
  return found;
}

std::vector<LiveProcess> live_processes() {
  std::vector<LiveProcess> processes;
  std::set<std::uint32_t> pids;
  std::error_code failed;
  for (fs::directory_iterator at("/proc", failed), end; !failed && at != end; at.increment(failed)) {
    const std::string name = at->path().filename();
    std::uint32_t pid = 0;
    const auto parsed = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (parsed.ec == std::errc() && parsed.ptr == name.data() + name.size()) pids.insert(pid);
  }
  for (const std::uint32_t pid : pids) {
    if (auto process = live_process(pid)) processes.push_back(std::move(*process));
  }
  return processes;
}

LiveLimit limit_of(const LivePage& page) {
  const auto number_of = [](const std::string& link, const std::string& key) {
    const auto at = link.find(" " + key + "=");
    return at == std::string::npos
               ? 0u
               : static_cast<std::uint32_t>(std::strtoul(link.c_str() + at + key.size() + 2, nullptr, 10));
  };
  for (std::uint32_t i = 0; i < page.device_count; ++i) {
    const std::string link = page.devices[i].link;
    auto limit = machine::limit_of_pcie(number_of(link, "generation"), number_of(link, "width"));
    if (!limit) limit = machine::limit_of_model(page.devices[i].name);
    if (limit) return {{limit->h2d_gbps, limit->d2h_gbps}};
  }
  return {};
}

}  // namespace turnpike::cli
