// Starts victims with fork and execve, and reads their traces with the project's own reader.
#include "victim_run.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "record/estate/estates.h"
#include "trace/reader.h"

extern char** environ;

namespace turnpike::record_tests {
namespace {

std::string read_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// As `turnpike record` does when its command has ended. Tells the status page, too.
void settle(record::Estates& estates, const std::filesystem::path& status_path) {
  TurnpikeStatus status{};
  std::fstream file(status_path, std::ios::binary | std::ios::in | std::ios::out);
  file.read(reinterpret_cast<char*>(&status), sizeof status);
  for (int look = 0; look < 50; ++look) {
    const auto settled = estates.settle();
    for (int i = 0; i < 6; ++i) status.transfer_count[i] += settled.added.transfer_count[i];
    if (!settled.has_recording) break;
    usleep(20'000);
  }
  file.seekp(0);
  file.write(reinterpret_cast<const char*>(&status), sizeof status);
}

Variables variables_of(const Setting& setting, const std::filesystem::path& folder) {
  Variables variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::size_t equals = text.find('=');
    variables[text.substr(0, equals)] = text.substr(equals + 1);
  }
  variables["LD_LIBRARY_PATH"] = fake_libraries();
  variables["TURNPIKE_CUPTI"] = fake_cupti();
  // Victims free nothing, and what a process still holds at its end is not what is tested here.
  variables["ASAN_OPTIONS"] = "detect_leaks=0";
  if (setting.is_recorded) {
    variables["CUDA_INJECTION64_PATH"] = record_library();
    variables["NVTX_INJECTION64_PATH"] = record_library();
    variables[TURNPIKE_ENV_RUN] = folder / "run.tpk";
    variables[TURNPIKE_ENV_STATUS] = folder / "status";
    variables["FAKE_CUPTI_REPORT"] = folder / "truth";
  }
  for (const auto& [name, value] : setting.variables) variables[name] = value;
  std::erase_if(variables, [](const auto& variable) { return variable.second.empty(); });
  return variables;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> made;
  for (std::string& text : texts) made.push_back(text.data());
  made.push_back(nullptr);
  return made;
}

// Only what is allowed between fork and exec.
[[noreturn]] void become(const char* program, char** arguments, char** variables, int out, int err,
                         std::int64_t file_limit_bytes) {
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  if (file_limit_bytes >= 0) {
    const rlimit limit{static_cast<rlim_t>(file_limit_bytes), static_cast<rlim_t>(file_limit_bytes)};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  execve(program, arguments, variables);
  _exit(127);
}

}  // namespace

ScratchFolder::ScratchFolder() {
  std::string name = std::filesystem::temp_directory_path() / "turnpike-test-XXXXXX";
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no scratch folder: " + name);
  path_ = name;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  std::filesystem::permissions(path_, std::filesystem::perms::owner_all, ignored);
  std::filesystem::remove_all(path_, ignored);
}

std::uint64_t Trace::loss(trace::Loss loss) const {
  const auto found = process.losses.find(static_cast<std::uint32_t>(loss));
  return found == process.losses.end() ? 0 : found->second;
}

std::string Trace::losses() const {
  std::string text;
  for (const auto& [number, count] : process.losses) {
    if (count == 0) continue;
    const trace::LossInfo* info = trace::find_loss(number);
    text += (info == nullptr ? std::to_string(number) : std::string(info->name)) + "=" + std::to_string(count) + " ";
  }
  return text;
}

std::string Trace::metadata(const std::string& key) const {
  const auto found = process.metadata.find(key);
  return found == process.metadata.end() ? "" : found->second;
}

std::vector<trace::MemcpyRecord> Trace::copies_of(std::uint64_t bytes) const {
  std::vector<trace::MemcpyRecord> found;
  for (const auto& copy : copies) {
    if (copy.bytes == bytes) found.push_back(copy);
  }
  return found;
}

std::vector<trace::CallRecord> Trace::calls_named(const std::string& name) const {
  std::vector<trace::CallRecord> found;
  for (const auto& call : calls) {
    if (process.string(call.name) == name) found.push_back(call);
  }
  return found;
}

const trace::CallRecord* Trace::call_of(std::uint32_t correlation) const {
  for (const auto& call : calls) {
    if (call.correlation == correlation) return &call;
  }
  return nullptr;
}

Trace read_trace(const std::filesystem::path& file) {
  Trace read;
  auto process = trace::read_file(file, read);
  if (!process) throw std::runtime_error(file.string() + ": " + process.error().message);
  read.process = std::move(*process);
  return read;
}

VictimRun::VictimRun(std::vector<std::string> arguments, Setting setting) {
  const auto out = folder_.path() / "out";
  const auto err = folder_.path() / "err";
  {
    // One zeroed TurnpikeStatus, as `turnpike record` makes it.
    std::ofstream status(folder_.path() / "status", std::ios::binary);
    const TurnpikeStatus empty{};
    status.write(reinterpret_cast<const char*>(&empty), sizeof empty);
  }
  arguments.insert(arguments.begin(), setting.program.empty() ? victim_path() : setting.program);
  const std::vector<std::string> emulator{EMULATOR};
  arguments.insert(arguments.begin(), emulator.begin(), emulator.end());
  auto estates = setting.is_recorded && setting.is_settled ? record::Estates::make() : std::nullopt;
  if (estates) setting.variables.try_emplace(TURNPIKE_ENV_ESTATES, estates->path());
  std::vector<std::string> variables;
  for (const auto& [name, value] : variables_of(setting, folder_.path())) variables.push_back(name + "=" + value);
  std::vector<char*> argument_pointers = pointers(arguments);
  std::vector<char*> variable_pointers = pointers(variables);
  const int out_file = open(out.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_APPEND, 0600);
  const int err_file = open(err.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_APPEND, 0600);
  const pid_t child = fork();
  if (child == 0) {
    become(arguments[0].c_str(), argument_pointers.data(), variable_pointers.data(), out_file, err_file,
           setting.file_limit_bytes);
  }
  close(out_file);
  close(err_file);
  if (setting.meanwhile) setting.meanwhile(child);
  int status = 0;
  rusage usage{};
  while (wait4(child, &status, 0, &usage) < 0 && errno == EINTR) {
  }
  if (estates) settle(*estates, folder_.path() / "status");
  if (WIFEXITED(status)) outcome_.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) outcome_.signal = WTERMSIG(status);
  outcome_.out = read_text(out);
  outcome_.err = read_text(err);
  outcome_.peak_memory_bytes = usage.ru_maxrss * 1024;
}

std::vector<std::filesystem::path> VictimRun::files() const {
  auto found = trace::run_files(run_directory());
  return found ? *found : std::vector<std::filesystem::path>();
}

Trace VictimRun::trace() const {
  const auto found = files();
  if (found.size() != 1) {
    throw std::runtime_error(std::to_string(found.size()) + " trace files; stderr: " + outcome_.err);
  }
  return read_trace(found[0]);
}

std::vector<Trace> VictimRun::traces() const {
  std::vector<Trace> read;
  for (const auto& file : files()) read.push_back(read_trace(file));
  return read;
}

std::map<std::string, std::uint64_t> VictimRun::truth() const {
  std::ifstream file(folder_.path() / "truth");
  std::map<std::string, std::uint64_t> truth;
  std::string name;
  for (std::uint64_t count = 0; file >> name >> count;) truth[name] = count;
  return truth;
}

TurnpikeStatus VictimRun::status() const {
  TurnpikeStatus status{};
  std::ifstream file(folder_.path() / "status", std::ios::binary);
  file.read(reinterpret_cast<char*>(&status), sizeof status);
  return status;
}

std::string victim_path() {
  return VICTIM_PATH;
}
std::string record_library() {
  return RECORD_LIBRARY;
}
std::string fake_libraries() {
  return FAKE_LIBRARIES;
}
std::string fake_cupti(bool is_old) {
  return fake_libraries() + (is_old ? "/libfakecupti-old.so" : "/libfakecupti.so");
}

bool is_sanitized() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return true;
#else
  return false;
#endif
}

}  // namespace turnpike::record_tests
