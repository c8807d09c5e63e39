// See http_head.h.
#include "api/http_head.h"

#include <algorithm>
#include <array>
#include <map>

#include "api/limits.h"

namespace berth::api {
namespace {

constexpr std::string_view kLineEnd = "\r\n";

// Fields of which a request may have one: of two, someone else could believe the other.
constexpr std::array<std::string_view, 9> kSingle = {
    "host",         "content-length", "transfer-encoding", "authorization",
    "content-type", "last-event-id",  "idempotency-key",   "origin",
    "expect"};

HeadFlaw bad(std::string message) { return {400, "bad_http", std::move(message)}; }

std::string in_lower_case(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  });
  return lower;
}

std::string_view without_blanks(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") + 1 - begin);
}

// Takes the next line, without its end.
std::string_view next_line(std::string_view& text) {
  const std::size_t end = std::min(text.find(kLineEnd), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(text.size(), end + kLineEnd.size()));
  return line;
}

using Fields = std::multimap<std::string, std::string_view>;

std::optional<HeadFlaw> read_fields(std::string_view text, Fields& fields) {
  for (std::string_view line = next_line(text); !line.empty(); line = next_line(text)) {
    if (line.front() == ' ' || line.front() == '\t') {
      return bad("a header field goes on in a second line, which HTTP no longer allows");
    }
    const std::size_t colon = line.find(':');
    const std::string_view name = line.substr(0, colon);
    if (colon == std::string_view::npos || name.empty() ||
        name.find_first_of(" \t") != std::string_view::npos) {
      return bad("a header line is not \"name: value\"");
    }
    fields.emplace(in_lower_case(name), without_blanks(line.substr(colon + 1)));
    if (fields.size() > kHttpFields) {
      return HeadFlaw{431, "header_too_large",
                      "there are more than " + std::to_string(kHttpFields) + " header fields"};
    }
  }
  return std::nullopt;
}

// How long the body is must be said once, and in a way that we know.
std::optional<HeadFlaw> flaw_in_length(const Fields& fields, bool is_1_1) {
  const auto coding = fields.find("transfer-encoding");
  if (coding == fields.end()) {
    const auto length = fields.find("content-length");
    if (length == fields.end()) return std::nullopt;
    const bool digits = !length->second.empty() && std::ranges::all_of(length->second, [](char c) {
      return c >= '0' && c <= '9';
    });
    if (digits) return std::nullopt;
    return bad("Content-Length is not a number");
  }
  if (fields.contains("content-length")) {
    return bad("a request has either Content-Length or Transfer-Encoding");
  }
  if (!is_1_1) return bad("HTTP/1.0 has no Transfer-Encoding");
  if (in_lower_case(coding->second) == "chunked") return std::nullopt;
  return HeadFlaw{501, "unknown_transfer_encoding",
                  "the only Transfer-Encoding that this server knows is \"chunked\""};
}

}  // namespace

std::size_t head_size(std::string_view bytes) {
  const std::size_t end = bytes.find("\r\n\r\n");
  return end == std::string_view::npos ? 0 : end + 4;
}

std::optional<HeadFlaw> flaw_in_lines(std::string_view bytes) {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const bool bare_lf = bytes[i] == '\n' && (i == 0 || bytes[i - 1] != '\r');
    const bool bare_cr = bytes[i] == '\r' && i + 1 < bytes.size() && bytes[i + 1] != '\n';
    if (bare_lf || bare_cr)
      return bad("lines of a header end with CR LF, and neither stands alone");
    const auto byte = static_cast<unsigned char>(bytes[i]);
    if ((byte < ' ' && byte != '\t' && byte != '\r' && byte != '\n') || byte == 0x7f) {
      return bad("the header holds the control character " + std::to_string(byte) +
                 (i == 0 && byte == 0x16 ? ": this door takes HTTP without TLS" : ""));
    }
  }
  return std::nullopt;
}

std::optional<HeadFlaw> flaw_in_head(std::string_view head) {
  if (auto flaw = flaw_in_lines(head)) return flaw;
  const bool is_1_1 = next_line(head).ends_with(" HTTP/1.1");
  Fields fields;
  if (auto flaw = read_fields(head, fields)) return flaw;
  for (const std::string_view name : kSingle) {
    if (fields.count(std::string(name)) > 1) {
      return bad("there is more than one " + std::string(name) + " field");
    }
  }
  if (is_1_1 && !fields.contains("host")) return bad("the Host field is missing");
  return flaw_in_length(fields, is_1_1);
}

}  // namespace berth::api
