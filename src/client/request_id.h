// The id that makes a repeated submit safe.
#pragma once

#include <string>

namespace berth::client {

// A random UUID (version 4) from the system's random source.
std::string make_request_id();

}  // namespace berth::client
