// The parts of the page server that need a page larger than the kernel's buffers. Browsers and slow clients are tested
// from Python (test_view_command.py).
#include "cli/page_server.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <thread>

#include "cli/http_request.h"

namespace turnpike::cli {
namespace {

constexpr std::size_t kPageBytes = 32UL << 20;

// A client of the server on 127.0.0.1.
class Client {
 public:
  explicit Client(std::uint16_t port) : file_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const timeval limit{.tv_sec = 20, .tv_usec = 0};
    ::setsockopt(file_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    EXPECT_EQ(::connect(file_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    const std::string request = "GET /page HTTP/1.1\r\nHost: localhost\r\n\r\n";
    EXPECT_EQ(::send(file_, request.data(), request.size(), 0), static_cast<ssize_t>(request.size()));
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  ~Client() { ::close(file_); }

  std::size_t count_to_end() const {
    std::size_t bytes = 0;
    std::string piece(1 << 16, '\0');
    ssize_t got = 0;
    while ((got = ::recv(file_, piece.data(), piece.size(), 0)) > 0) bytes += static_cast<std::size_t>(got);
    return bytes;
  }

 private:
  int file_;
};

class PageServer : public testing::Test {
 protected:
  PageServer() : serving_([this] { server_->serve([this] { return page_; }); }) {}
  ~PageServer() override {
    server_->stop();
    serving_.join();
  }
  std::uint16_t port() const { return server_->port(); }

 private:
  Result<cli::PageServer> server_ = cli::PageServer::start_open("127.0.0.1", 0, "/page", "text/plain");
  cli::PageServer::Page page_ = std::make_shared<const std::string>(kPageBytes, 'x');
  std::thread serving_;
};

TEST_F(PageServer, SendsAPageThatIsLargerThanTheKernelsBuffers) {
  const std::size_t head = answer_head("200 OK", "text/plain", kPageBytes).size();
  EXPECT_EQ(Client(port()).count_to_end(), head + kPageBytes);
}

TEST_F(PageServer, ServesOthersWhileAClientReadsNothing) {
  const Client idle(port());
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_GT(Client(port()).count_to_end(), kPageBytes);
}

TEST(IsThisMachine, IsSoAtAnyPort) {
  for (const char* host : {"localhost", "localhost:1", "127.0.0.1:65535", "[::1]", "[::1]:9000", "127.0.0.2:9400"})
    EXPECT_TRUE(is_this_machine(host, "127.0.0.2")) << host;
  for (const char* host :
       {"", "localhost:", "localhost:123456", "localhost:1a", "127.0.0.1.example", "127.0.0.11", "::1"})
    EXPECT_FALSE(is_this_machine(host, "127.0.0.2")) << host;
}

TEST(ParseRequest, HasEmptyPartsWhereThereIsNoRequest) {
  for (const char* text : {"", "\r\n\r\n", "GET\r\n\r\n"}) {
    const HttpRequest request = parse_request(text);
    EXPECT_EQ(request.method, "");
    EXPECT_EQ(request.path, "");
  }
  const HttpRequest request = parse_request("GET /a?b HTTP/1.1\r\nhOsT:  here \r\n\r\n");
  EXPECT_EQ(request.method, "GET");
  EXPECT_EQ(request.path, "/a");
  EXPECT_EQ(request.host, "here");
}

}  // namespace
}  // namespace turnpike::cli
