// A private page that leads a browser to a secret address.
#pragma once

#include <optional>
#include <string>

namespace turnpike::cli {

// The arguments of a browser are there for all users to see (ps). So it opens this file, which this user alone can read
// and which is deleted with this object.
class RedirectFile {
 public:
  // nullopt: no file can be made.
  static std::optional<RedirectFile> make(const std::string& address);
  RedirectFile(RedirectFile&& other) noexcept;
  RedirectFile& operator=(RedirectFile&& other) noexcept;
  ~RedirectFile();

  std::string path() const { return folder_ + "/open.html"; }

 private:
  explicit RedirectFile(std::string folder);

  std::string folder_;  // "": nothing is to be deleted
};

}  // namespace turnpike::cli
