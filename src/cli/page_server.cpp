#include "cli/page_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

namespace turnpike::cli {
namespace {

constexpr int kWaitingConnections = 16;
// A browser's request for a page is far shorter.
constexpr std::size_t kMaxRequestBytes = 16384;
constexpr int kTimeoutSeconds = 10;

Error failure(const char* what) {
  return Error{std::string(what) + ": " + std::strerror(errno)};
}

// 128 bits as hexadecimal digits; "" when the system gives none.
std::string random_token() {
  std::array<unsigned char, 16> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) return "";
  std::string token;
  for (const unsigned char byte : bytes) {
    token += "0123456789abcdef"[byte >> 4];
    token += "0123456789abcdef"[byte & 15];
  }
  return token;
}

// Up to the empty line; "" for what is no request or comes too slowly.
std::string request_of(int connection) {
  std::string request;
  std::array<char, 4096> piece{};
  while (request.size() < kMaxRequestBytes) {
    const ssize_t got = ::recv(connection, piece.data(), piece.size(), 0);
    if (got <= 0) return "";
    request.append(piece.data(), static_cast<std::size_t>(got));
    if (request.find("\r\n\r\n") != std::string::npos) return request;
  }
  return "";
}

void send_all(int connection, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(connection, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

bool is_same_letter(char a, char b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return lower(a) == lower(b);
}

// The value of the header field; "" when the request has none.
std::string_view header_of(std::string_view request, std::string_view name) {
  for (auto line = request.find("\r\n"); line != std::string_view::npos; line = request.find("\r\n", line + 2)) {
    std::string_view text = request.substr(line + 2, request.find("\r\n", line + 2) - line - 2);
    const bool is_named = text.size() > name.size() && text[name.size()] == ':' &&
                          std::equal(name.begin(), name.end(), text.begin(), is_same_letter);
    if (!is_named) continue;
    text.remove_prefix(name.size() + 1);
    while (text.starts_with(' ')) text.remove_prefix(1);
    while (text.ends_with(' ')) text.remove_suffix(1);
    return text;
  }
  return "";
}

std::string head_of(const char* status, const char* type, std::size_t size) {
  return std::string("HTTP/1.1 ") + status + "\r\nContent-Type: " + type +
         "\r\nContent-Length: " + std::to_string(size) +
         "\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer"
         "\r\nCross-Origin-Resource-Policy: same-origin\r\nX-Frame-Options: DENY\r\nConnection: close\r\n\r\n";
}

void refuse(int connection, const char* status) {
  const std::string text = std::string(status) + "\n";
  send_all(connection, head_of(status, "text/plain; charset=utf-8", text.size()) + text);
}

}  // namespace

Result<PageServer> PageServer::start(std::uint16_t port) {
  const std::string token = random_token();
  if (token.empty()) return failure("cannot make an address that nobody can guess");
  return listen_at("127.0.0.1", port, "/" + token + "/");
}

Result<PageServer> PageServer::start_open(const std::string& address, std::uint16_t port, std::string path,
                                          std::string type) {
  auto server = listen_at(address, port, std::move(path));
  if (server) server->type_ = std::move(type);
  return server;
}

Result<PageServer> PageServer::listen_at(const std::string& host, std::uint16_t port, std::string path) {
  int wake[2];
  if (::pipe2(wake, O_CLOEXEC | O_NONBLOCK) != 0) return failure("cannot make a pipe");
  const int listening = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  PageServer server(listening, wake[0], wake[1], port, std::move(path));
  server.host_ = host;
  if (listening < 0) return failure("cannot make a socket");
  const int reuse = 1;
  ::setsockopt(listening, SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof(reuse));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  if (::inet_pton(AF_INET, host.c_str(), &address.sin_addr) != 1) return Error{host + " is no IPv4 address"};
  socklen_t size = sizeof(address);
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  if (::bind(listening, any, size) != 0 || ::listen(listening, kWaitingConnections) != 0 ||
      ::getsockname(listening, any, &size) != 0) {
    return Error{"cannot listen on " + host + ":" + std::to_string(port) + ": " + std::strerror(errno)};
  }
  server.port_ = ntohs(address.sin_port);
  return server;
}

PageServer::PageServer(PageServer&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)),
      wake_read_(std::exchange(other.wake_read_, -1)),
      wake_write_(std::exchange(other.wake_write_, -1)),
      port_(other.port_),
      path_(std::move(other.path_)),
      host_(std::move(other.host_)),
      type_(std::move(other.type_)) {}

PageServer::~PageServer() {
  for (const int file : {socket_, wake_read_, wake_write_}) {
    if (file >= 0) ::close(file);
  }
}

std::string PageServer::address() const {
  return "http://" + host_ + ":" + std::to_string(port_) + path_;
}

void PageServer::serve(const std::function<std::string()>& page) {
  while (true) {
    std::array<pollfd, 2> waiting = {pollfd{socket_, POLLIN, 0}, pollfd{wake_read_, POLLIN, 0}};
    if (::poll(waiting.data(), waiting.size(), -1) < 0 && errno != EINTR) return;
    if ((waiting[1].revents & POLLIN) != 0) return;
    if ((waiting[0].revents & POLLIN) == 0) continue;
    const int connection = ::accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection < 0) continue;
    // A client that says nothing must not keep others waiting for long.
    const timeval limit{.tv_sec = kTimeoutSeconds, .tv_usec = 0};
    ::setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    ::setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    answer(connection, page);
    ::shutdown(connection, SHUT_RDWR);
    ::close(connection);
  }
}

void PageServer::answer(int connection, const std::function<std::string()>& page) const {
  const std::string request = request_of(connection);
  const std::string_view line = std::string_view(request).substr(0, request.find("\r\n"));
  const bool is_get = line.starts_with("GET ");
  if (!is_get && !line.starts_with("HEAD ")) return refuse(connection, "405 Method Not Allowed");
  const std::string host = ":" + std::to_string(port_);
  const std::string_view asked = header_of(request, "Host");
  const bool is_loopback = host_.starts_with("127.");
  if (is_loopback && asked != host_ + host && asked != "localhost" + host) return refuse(connection, "403 Forbidden");
  std::string_view path = line.substr(line.find(' ') + 1);
  path = path.substr(0, path.find_first_of(" ?"));
  if (path != path_) return refuse(connection, "404 Not Found");
  const std::string text = page();
  send_all(connection, head_of("200 OK", type_.c_str(), text.size()));
  if (is_get) send_all(connection, text);
}

void PageServer::stop() const {
  const int saved = errno;
  [[maybe_unused]] const ssize_t written = ::write(wake_write_, "", 1);
  errno = saved;
}

}  // namespace turnpike::cli
