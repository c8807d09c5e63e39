// Limits of the API: each stands here, or where the configuration has its default, and nowhere
// else. The guide's table names them, and a test compares it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "config/server_config.h"

namespace berth::api {

inline constexpr config::LimitSection kConfigurable{};  // as a server has them that sets none

// Of one task.
struct SpecLimits {
  std::size_t payload_bytes = static_cast<std::size_t>(kConfigurable.max_payload);
  std::size_t command_bytes = 128U << 10;  // argv, env and workdir together, as the kernel has it
  std::size_t labels = 64;
  std::size_t depends_on = 1000;
};
inline constexpr std::size_t kLabelValueMax = 256;

inline constexpr std::size_t kWorkflowMax = 10'000;        // tasks
inline constexpr std::size_t kSubmitOutstanding = 32'768;  // of one stream, not yet answered
inline constexpr std::int32_t kPageDefault = 50;           // of ListTasks and ListSignals
inline constexpr std::int32_t kPageMax = 1'000;
inline constexpr std::int32_t kUsageDays = 7;
inline constexpr std::int32_t kUsageDaysMax = 3'660;
inline constexpr int kGrpcMetadataBytes = 16 << 10;
inline constexpr int kGrpcCallsAtOnce = 1'024;  // on one connection
inline constexpr std::uint32_t kHttpHeaderBytes = 8U << 10;
inline constexpr std::size_t kHttpFields = 100;

}  // namespace berth::api
