// The head of an HTTP request as bytes: where it ends, and what in it two readers could take
// differently. Whoever stands between a client and this server must see the same requests as we do,
// so what is ambiguous is refused, and its connection closed, before the parser sees it. Knows no
// socket.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace berth::api {

struct HeadFlaw {
  int status = 400;
  std::string reason;
  std::string message;
};

// The size of the head, with the empty line behind it; 0: it is not there yet.
std::size_t head_size(std::string_view bytes);

// Lines end with CR LF, and neither stands alone, nor is there another control character; may be
// asked before the head is complete.
std::optional<HeadFlaw> flaw_in_lines(std::string_view bytes);

// Of a complete head.
std::optional<HeadFlaw> flaw_in_head(std::string_view head);

}  // namespace berth::api
