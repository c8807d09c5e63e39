// Frames, and answers with a descriptor.
#include "agent/launcher_messages.h"

#include <cerrno>
#include <cstring>

#include <sys/socket.h>

namespace berth::agent {
namespace {

struct AnswerBytes {
  std::uint64_t lease = 0;
  std::uint64_t task_no = 0;
  std::int64_t error = 0;
};

// A message of one AnswerBytes, with room for one descriptor.
struct AnswerMessage {
  explicit AnswerMessage(AnswerBytes& bytes) : content{&bytes, sizeof bytes} {
    header.msg_iov = &content;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof control;
  }
  AnswerMessage(const AnswerMessage&) = delete;
  AnswerMessage& operator=(const AnswerMessage&) = delete;

  iovec content;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))]{};
  msghdr header{};
};

void put_descriptor(AnswerMessage& message, int fd) {
  if (fd < 0) {
    message.header.msg_controllen = 0;
    return;
  }
  cmsghdr* const rights = CMSG_FIRSTHDR(&message.header);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(sizeof fd);
  std::memcpy(CMSG_DATA(rights), &fd, sizeof fd);
}

Fd take_descriptor(AnswerMessage& message) {
  const cmsghdr* const rights = CMSG_FIRSTHDR(&message.header);
  if (rights == nullptr || rights->cmsg_type != SCM_RIGHTS) return {};
  int fd = -1;
  std::memcpy(&fd, CMSG_DATA(rights), sizeof fd);
  return Fd(fd);
}

}  // namespace

std::string frame(LaunchKey key, const Intent& intent) {
  const std::string fields = encode(intent);
  const FrameHeader header{key.first, key.second, fields.size()};
  return std::string(reinterpret_cast<const char*>(&header), sizeof header) + fields;
}

bool send_answer(int socket, const LaunchAnswer& answer) {
  AnswerBytes bytes{answer.key.first, answer.key.second, answer.error};
  AnswerMessage message(bytes);
  put_descriptor(message, answer.shim.get());
  while (true) {
    const ssize_t sent = ::sendmsg(socket, &message.header, MSG_NOSIGNAL);
    if (sent == static_cast<ssize_t>(sizeof bytes)) return true;
    if (sent >= 0 || errno != EINTR) return false;
  }
}

Result<std::optional<LaunchAnswer>> receive_answer(int socket) {
  AnswerBytes bytes;
  AnswerMessage message(bytes);
  ssize_t got = -1;
  do {
    got = ::recvmsg(socket, &message.header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  if (got < 0 && errno == EAGAIN) return std::optional<LaunchAnswer>();
  if (got != static_cast<ssize_t>(sizeof bytes)) {
    return Error{"The launcher of commands has ended."};
  }
  LaunchAnswer answer;
  answer.key = {bytes.lease, bytes.task_no};
  answer.error = static_cast<int>(bytes.error);
  answer.shim = take_descriptor(message);
  return std::optional<LaunchAnswer>(std::move(answer));
}

}  // namespace berth::agent
