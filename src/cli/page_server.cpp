// One thread, which never waits for a client.
#include "cli/page_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <list>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/http_request.h"

namespace turnpike::cli {
namespace {

using SteadyClock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// Further ones wait in the kernel until one of these is over.
constexpr std::size_t kMostConnections = 64;
constexpr int kWaitingConnections = 128;
constexpr milliseconds kRequestPatience{2000};
// A page may have many megabytes, and may be taken through a slow tunnel.
constexpr std::size_t kLeastBytesPerSecond = 100'000;

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

constexpr const char* kWhyForbidden =
    "403 Forbidden\n\nThis page is served to this machine alone, at localhost, 127.0.0.1 or [::1] and any port (so `ssh -L`\n"
    "works). The request names another host, as one that a website sends would. Open the address that was printed.\n";

int milliseconds_until(SteadyClock::time_point until) {
  const auto left = std::chrono::ceil<milliseconds>(until - SteadyClock::now()).count();
  return static_cast<int>(std::max<std::int64_t>(left, 0));
}

}  // namespace

struct PageServer::Connection {
  explicit Connection(int of_file) : file(of_file), until(SteadyClock::now() + kRequestPatience) {}
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection() {
    ::shutdown(file, SHUT_RDWR);
    ::close(file);
  }

  // Takes the bytes that have arrived. False: the client is gone.
  bool receive() {
    std::array<char, 4096> piece{};
    const ssize_t got = ::recv(file, piece.data(), piece.size(), 0);
    if (got > 0) received.append(piece.data(), static_cast<std::size_t>(got));
    return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
  }

  void take(Page of_body, std::string of_head) {
    head = std::move(of_head);
    body = std::move(of_body);
    is_answered = true;
    const std::size_t size = head.size() + (body ? body->size() : 0);
    until = SteadyClock::now() + kRequestPatience + std::chrono::seconds(size / kLeastBytesPerSecond);
  }

  // Sends as many bytes as the kernel takes now. False: all is sent, or the client is gone.
  bool send() {
    while (true) {
      const bool is_head = sent < head.size();
      const std::string_view all = is_head ? std::string_view(head) : body ? std::string_view(*body) : "";
      const std::string_view rest = all.substr(is_head ? sent : sent - head.size());
      if (rest.empty()) return false;
      const ssize_t count = ::send(file, rest.data(), rest.size(), MSG_NOSIGNAL);
      if (count < 0) return errno == EAGAIN || errno == EINTR;
      sent += static_cast<std::size_t>(count);
    }
  }

  int file;
  SteadyClock::time_point until;
  std::string received{};
  bool is_answered = false;
  std::string head{};
  Page body{};
  std::size_t sent = 0;  // of both
};

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
  const int listening = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
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

bool PageServer::go_on(Connection& connection, const std::function<Page()>& page) const {
  if (SteadyClock::now() >= connection.until) return false;
  if (!connection.is_answered) {
    if (!connection.receive()) return false;
    if (!is_whole_request(connection.received)) return connection.received.size() < kMaxRequestBytes;
    answer(connection, parse_request(connection.received), page);
  }
  return connection.send();
}

void PageServer::answer(Connection& connection, const HttpRequest& request, const std::function<Page()>& page) const {
  const auto refuse = [&](const char* status, const std::string& text) {
    connection.take({}, answer_head(status, "text/plain; charset=utf-8", text.size()) + text);
  };
  if (request.has_hosts) return refuse("400 Bad Request", "400 Bad Request\n");
  const bool is_get = request.method == "GET";
  if (!is_get && request.method != "HEAD") return refuse("405 Method Not Allowed", "405 Method Not Allowed\n");
  if (host_.starts_with("127.") && !is_this_machine(request.host, host_)) return refuse("403 Forbidden", kWhyForbidden);
  if (request.path != path_) return refuse("404 Not Found", "404 Not Found\n");
  const Page text = page();
  connection.take(is_get ? text : Page(), answer_head("200 OK", type_, text->size()));
}

void PageServer::serve(const std::function<Page()>& page) {
  std::list<Connection> connections;
  while (true) {
    std::vector<pollfd> waiting{{wake_read_, POLLIN, 0},
                                {connections.size() < kMostConnections ? socket_ : -1, POLLIN, 0}};
    auto first = SteadyClock::time_point::max();
    for (const Connection& connection : connections) {
      waiting.push_back({connection.file, static_cast<short>(connection.is_answered ? POLLOUT : POLLIN), 0});
      first = std::min(first, connection.until);
    }
    if (::poll(waiting.data(), waiting.size(), connections.empty() ? -1 : milliseconds_until(first)) < 0 &&
        errno != EINTR)
      return;
    if ((waiting[0].revents & POLLIN) != 0) return;
    std::erase_if(connections, [&](Connection& connection) { return !go_on(connection, page); });
    if ((waiting[1].revents & POLLIN) == 0) continue;
    const int file = ::accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (file >= 0) connections.emplace_back(file);
  }
}

void PageServer::stop() const {
  const int saved = errno;
  [[maybe_unused]] const ssize_t written = ::write(wake_write_, "", 1);
  errno = saved;
}

}  // namespace turnpike::cli
