// The command `turnpike` that pip puts into an environment's bin folder: becomes the executable inside the package.
// It starts no Python, which takes fifty times as long, except for the commands that are written in Python.
#include <glob.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace {

constexpr int kFailed = 4;
constexpr const char* kExecutable = "/turnpike/_native/turnpike";
// Parts of these are Python's: turnpike/__main__.py knows which, and becomes the executable for the others.
constexpr std::array<std::string_view, 3> kInPython = {"bench", "export", "fleet"};
// The folder of packages as it is seen from the folder above bin/: in environments, in Debian's Python, and after
// `pip install --target`.
constexpr std::array kPackages = {"/lib/python3*/site-packages", "/lib64/python3*/site-packages",
                                  "/lib/python3*/dist-packages", ""};
// The current folder, which `python -c` would search first, holds the user's files. Python does not search a folder of
// `pip install --target` by itself.
constexpr const char* kProgram =
    "import sys\n"
    "packages = sys.argv.pop(1)\n"
    "sys.path[:] = [folder for folder in sys.path if folder]\n"
    "if packages not in sys.path: sys.path.append(packages)\n"
    "from turnpike.__main__ import main\n"
    "main()\n";

// A path in a pattern, which may hold characters that patterns use.
std::string quoted(const std::string& path) {
  std::string text;
  for (const char one : path) {
    if (std::strchr("*?[\\", one) != nullptr) text += '\\';
    text += one;
  }
  return text;
}

std::vector<std::string> matches(const std::string& pattern) {
  glob_t found{};
  std::vector<std::string> paths;
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0) paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
  return paths;
}

std::string folder_of(const std::string& path) {
  return path.substr(0, path.rfind('/'));
}

std::string name_of(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

// Where this file is, whatever link it was started by.
std::string own_path() {
  std::string path(4096, '\0');
  const ssize_t size = readlink("/proc/self/exe", path.data(), path.size());
  return path.substr(0, size > 0 ? static_cast<std::size_t>(size) : 0);
}

bool is_of_this_version(const std::string& packages) {
  return access((packages + "/turnpike_gpu-" TURNPIKE_VERSION ".dist-info").c_str(), F_OK) == 0;
}

// "" if the package is in none. Several Pythons may share a bin/, which then has the command that came last.
std::string folder_of_packages(const std::string& prefix) {
  std::vector<std::string> found;
  for (const char* place : kPackages) {
    for (const auto& path : matches(quoted(prefix) + place + kExecutable))
      found.push_back(path.substr(0, path.size() - std::strlen(kExecutable)));
  }
  const auto same = std::find_if(found.begin(), found.end(), is_of_this_version);
  if (same != found.end()) return *same;
  return found.empty() ? "" : found.front();
}

// Two distributions that share the folder turnpike/ overwrite each other's files and uninstall them.
void warn_of_another_project(const std::string& packages) {
  const auto others = matches(quoted(packages) + "/turnpike-*.dist-info");
  if (others.empty()) return;
  std::fprintf(
      stderr,
      "turnpike: the distribution \"turnpike\" (%s) writes into the folder of turnpike-gpu. Run `pip uninstall "
      "turnpike`, then install turnpike-gpu again.\n",
      others.front().c_str());
}

// Becomes the Python of these packages: the environment has its own, and packages of a user serve the first in PATH.
// Returns if there is none.
void become_python(const std::string& prefix, const std::string& packages, char** arguments) {
  const std::string above = name_of(folder_of(packages));
  const std::string name = above.starts_with("python3") ? above : "python3";
  const std::string own = prefix + "/bin/" + name;
  std::vector<char*> all = {const_cast<char*>(own.c_str()), const_cast<char*>("-c"), const_cast<char*>(kProgram),
                            const_cast<char*>(packages.c_str())};
  for (char** one = arguments + 1; *one != nullptr; ++one) all.push_back(*one);
  all.push_back(nullptr);
  // Python finds its environment by the path that it was started by.
  execv(own.c_str(), all.data());
  all.front() = const_cast<char*>(name.c_str());
  execvp(name.c_str(), all.data());
}

int launch(char** arguments) {
  const std::string path = own_path();
  const std::string prefix = folder_of(folder_of(path));
  const std::string packages = folder_of_packages(prefix);
  if (packages.empty()) {
    std::fprintf(stderr,
                 "turnpike: there is no package turnpike below %s, where pip puts it with this command. Run `python -m "
                 "turnpike`, or install turnpike-gpu again.\n",
                 prefix.c_str());
    return kFailed;
  }
  warn_of_another_project(packages);
  const std::string_view word = arguments[0] != nullptr && arguments[1] != nullptr ? arguments[1] : "";
  if (std::find(kInPython.begin(), kInPython.end(), word) != kInPython.end())
    become_python(prefix, packages, arguments);
  const std::string executable = packages + kExecutable;
  execv(executable.c_str(), arguments);
  std::fprintf(stderr, "turnpike: %s does not start: %s. Install turnpike-gpu again.\n", executable.c_str(),
               std::strerror(errno));
  return kFailed;
}

}  // namespace

int main(int, char** arguments) {
  return launch(arguments);
}
