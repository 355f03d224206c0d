// Serves one page to browsers of this machine, and nothing else.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace turnpike::cli {

// Listens on 127.0.0.1. The page has an address that nobody can guess, so that other users of the machine cannot read
// it; requests that name another host (a page of a website whose name was made to point here) are refused.
class PageServer {
 public:
  // `port`: 0 for any that is free.
  static Result<PageServer> start(std::uint16_t port);
  PageServer(PageServer&& other) noexcept;
  PageServer& operator=(PageServer&&) = delete;
  ~PageServer();

  std::uint16_t port() const { return port_; }
  // "http://127.0.0.1:PORT/TOKEN/"
  std::string address() const;
  // Answers until stop() or a failure of the socket. Takes one request at a time.
  void serve(const std::string& page);
  // Makes serve() return; may be called from a signal handler.
  void stop() const;

 private:
  PageServer(int socket, int wake_read, int wake_write, std::uint16_t port, std::string token)
      : socket_(socket), wake_read_(wake_read), wake_write_(wake_write), port_(port), token_(std::move(token)) {}
  void answer(int connection, const std::string& page) const;

  int socket_;
  int wake_read_;
  int wake_write_;
  std::uint16_t port_;
  std::string token_;
};

}  // namespace turnpike::cli
