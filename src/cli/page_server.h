// Serves one page to browsers of this machine, and nothing else.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"

namespace turnpike::cli {

// Listens on 127.0.0.1. The page has an address that nobody can guess, so that other users of the machine cannot read
// it; requests that name another host (a page of a website whose name was made to point here) are refused.
class PageServer {
 public:
  // `port`: 0 for any that is free.
  static Result<PageServer> start(std::uint16_t port);
  // A text that each request asks for anew, at http://ADDRESS:PORT/`path`: for programs that scrape it, so its address
  // is no secret. `address`: an IPv4 address of this machine; requests by any name are answered unless it is loopback.
  static Result<PageServer> start_open(const std::string& address, std::uint16_t port, std::string path,
                                       std::string type);
  PageServer(PageServer&& other) noexcept;
  PageServer& operator=(PageServer&&) = delete;
  ~PageServer();

  std::uint16_t port() const { return port_; }
  // "http://127.0.0.1:PORT/TOKEN/"
  std::string address() const;
  // Answers until stop() or a failure of the socket. Takes one request at a time.
  void serve(const std::function<std::string()>& page);
  // Makes serve() return; may be called from a signal handler.
  void stop() const;

 private:
  PageServer(int socket, int wake_read, int wake_write, std::uint16_t port, std::string path)
      : socket_(socket), wake_read_(wake_read), wake_write_(wake_write), port_(port), path_(std::move(path)) {}
  static Result<PageServer> listen_at(const std::string& address, std::uint16_t port, std::string path);
  void answer(int connection, const std::function<std::string()>& page) const;

  int socket_;
  int wake_read_;
  int wake_write_;
  std::uint16_t port_;
  std::string path_;  // "/TOKEN/"
  std::string host_ = "127.0.0.1";
  std::string type_ = "text/html; charset=utf-8";
};

}  // namespace turnpike::cli
