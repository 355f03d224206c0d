// Serves one page to browsers of this machine, and nothing else.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"

namespace turnpike::cli {

struct HttpRequest;

// Listens on 127.0.0.1. The page has an address that nobody can guess, so that other users of the machine cannot read
// it; requests that name another host (a page of a website whose name was made to point here) are refused.
class PageServer {
 public:
  using Page = std::shared_ptr<const std::string>;

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
  // Answers until stop() or a failure of the socket. No client can keep another waiting: none is waited for, each has
  // two seconds for its request, and a bounded time to take the answer.
  void serve(const std::function<Page()>& page);
  // Makes serve() return; may be called from a signal handler.
  void stop() const;

 private:
  struct Connection;

  PageServer(int socket, int wake_read, int wake_write, std::uint16_t port, std::string path)
      : socket_(socket), wake_read_(wake_read), wake_write_(wake_write), port_(port), path_(std::move(path)) {}
  static Result<PageServer> listen_at(const std::string& address, std::uint16_t port, std::string path);
  // Does what can be done at once. False: the connection is over.
  bool go_on(Connection& connection, const std::function<Page()>& page) const;
  void answer(Connection& connection, const HttpRequest& request, const std::function<Page()>& page) const;

  int socket_;
  int wake_read_;
  int wake_write_;
  std::uint16_t port_;
  std::string path_;  // "/TOKEN/"
  std::string host_ = "127.0.0.1";
  std::string type_ = "text/html; charset=utf-8";
};

}  // namespace turnpike::cli
