// What the agent and the launcher process say to each other over their socket.
//
// Intents as frames: their length, whose they are, their fields. Answers of one size, each with the
// pidfd of the shim. Both ends are the same binary, so numbers go as they are.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "agent/files.h"
#include "agent/intent.h"
#include "base/result.h"

namespace berth::agent {

constexpr int kLauncherSocket = 3;  // of the launcher process

using LaunchKey = std::pair<std::uint64_t, std::uint64_t>;  // lease, task

struct FrameHeader {
  std::uint64_t lease = 0;
  std::uint64_t task_no = 0;
  std::uint64_t size = 0;  // of the fields that follow
};

struct LaunchAnswer {
  LaunchKey key;
  int error = 0;  // errno of the fork
  Fd shim;        // its pidfd; empty if it could not be passed
};

std::string frame(LaunchKey key, const Intent& intent);

// False: the other end is gone.
bool send_answer(int socket, const LaunchAnswer& answer);
// Never waits. Nothing: none is there now. An error: the other end is gone.
Result<std::optional<LaunchAnswer>> receive_answer(int socket);

}  // namespace berth::agent
