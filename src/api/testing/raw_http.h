// An HTTP client on a bare socket, for tests: it can also be slow, rude and wrong.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

namespace berth::api::testing {

struct RawReply {
  int status = 0;  // 0: the connection ended first
  std::string head;
  std::string body;

  // The value of a header, by its name as the server writes it.
  std::string header(const std::string& name) const {
    const std::size_t at = head.find("\r\n" + name + ": ");
    if (at == std::string::npos) return "";
    const std::size_t begin = at + name.size() + 4;
    return head.substr(begin, head.find("\r\n", begin) - begin);
  }
};

class RawHttp {
 public:
  explicit RawHttp(int port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = ::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    const timeval limit{20, 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    ::setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  }
  ~RawHttp() { ::close(socket_); }
  RawHttp(const RawHttp&) = delete;
  RawHttp& operator=(const RawHttp&) = delete;

  bool connected() const { return connected_; }

  // False: the other side has closed.
  bool send(std::string_view text) {
    while (!text.empty()) {
      const ssize_t sent = ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      text.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }

  // False: nothing more comes.
  bool receive() {
    char buffer[16'384];
    const ssize_t got = ::recv(socket_, buffer, sizeof buffer, 0);
    if (got <= 0) return false;
    text_.append(buffer, static_cast<std::size_t>(got));
    return true;
  }
  // Reads until what came contains `mark`; answers what came.
  std::string read_until(const std::string& mark) {
    while (text_.find(mark) == std::string::npos && receive()) {
    }
    return text_;
  }

  RawReply reply(bool head_only = false) {
    RawReply reply;
    std::size_t end = 0;
    while ((end = text_.find("\r\n\r\n")) == std::string::npos) {
      if (!receive()) return reply;
    }
    reply.head = text_.substr(0, end + 2);
    text_.erase(0, end + 4);
    reply.status = std::atoi(reply.head.c_str() + 9);
    if (head_only || reply.status == 100) return reply;
    if (reply.header("Transfer-Encoding") == "chunked") {
      read_chunks(reply.body);
    } else {
      const std::size_t size = std::strtoul(reply.header("Content-Length").c_str(), nullptr, 10);
      while (text_.size() < size && receive()) {
      }
      reply.body = text_.substr(0, size);
      text_.erase(0, size);
    }
    return reply;
  }

  RawReply ask(const std::string& verb, const std::string& target, const std::string& body = "",
               const std::string& headers = "") {
    std::string text = verb + " " + target + " HTTP/1.1\r\nHost: localhost\r\n" + headers;
    if (!body.empty()) {
      text += "Content-Type: application/json\r\n";
    }
    if (!body.empty() || verb != "GET") {
      text += "Content-Length: " + std::to_string(body.size()) + "\r\n";
    }
    if (!send(text + "\r\n" + body)) return {};
    return reply(verb == "HEAD");
  }

 private:
  void read_chunks(std::string& body) {
    while (true) {
      std::size_t end = 0;
      while ((end = text_.find("\r\n")) == std::string::npos) {
        if (!receive()) return;
      }
      const std::size_t size = std::strtoul(text_.c_str(), nullptr, 16);
      while (text_.size() < end + 2 + size + 2 && receive()) {
      }
      body += text_.substr(end + 2, size);
      text_.erase(0, end + 2 + size + 2);
      if (size == 0) return;
    }
  }

  int socket_;
  bool connected_ = false;
  std::string text_;
};

}  // namespace berth::api::testing
