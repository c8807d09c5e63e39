// What the keys of [server] must be together: addresses, what an open address needs, the time zone.
#pragma once

#include <string_view>

#include "config/fields.h"
#include "config/server_config.h"

namespace berth::config {

// Reports what is wrong with the section as a whole.
void check_server(TableReader& table, const ServerSection& server);

// Whether the text is "host:port", with an IPv6 host in brackets.
bool is_address(std::string_view text);

// Whether the address can be reached from this machine alone. A name other than localhost cannot be
// told: what it means is decided elsewhere. REQUIRES is_address.
bool is_loopback(std::string_view address);

// Whether the time zone is UTC or one that the system knows.
bool is_timezone(std::string_view name);

}  // namespace berth::config
