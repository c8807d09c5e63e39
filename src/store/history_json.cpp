// See history_json.h.
#include "store/history_json.h"

#include <charconv>
#include <cstdint>
#include <system_error>
#include <utility>

namespace berth::store {
namespace {

constexpr char kHex[] = "0123456789abcdef";

void put_text(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (code < 0x20) {
      out += "\\u00";
      out += kHex[code >> 4];
      out += kHex[code & 15];
    } else {
      out += c;
    }
  }
  out += '"';
}

template <class Items, class Put>
void put_list(std::string& out, const Items& items, Put put) {
  bool first = true;
  for (const auto& item : items) {
    if (!std::exchange(first, false)) out += ',';
    put(item);
  }
}

void put_attempt(std::string& out, const EndedAttempt& attempt) {
  out += "{\"number\":" + std::to_string(attempt.number);
  out += ",\"lease\":" + std::to_string(attempt.lease);
  out += ",\"gpus\":[";
  put_list(out, attempt.gpus, [&](const std::string& gpu) { put_text(out, gpu); });
  out += "],\"started_ns\":" + std::to_string(attempt.started_ns);
  out += ",\"ended_ns\":" + std::to_string(attempt.ended_ns);
  out += ",\"outcome\":";
  put_text(out, attempt.outcome);
  out += ",\"exit_status\":" + std::to_string(attempt.exit_status);
  out += ",\"charge_us\":" + std::to_string(attempt.charge_us) + "}";
}

// Takes what it expects from the front; after the first surprise nothing fits any more.
class Parser {
 public:
  explicit Parser(std::string_view text) : rest_(text) {}

  bool take(std::string_view expected) {
    if (!rest_.starts_with(expected)) return false;
    rest_.remove_prefix(expected.size());
    return true;
  }
  void need(std::string_view expected) { ok_ = take(expected) && ok_; }

  template <class Number>
  void number(Number& value) {
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    ok_ = ok_ && error == std::errc{};
    if (ok_) rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
  }

  std::string text() {
    std::string out;
    need("\"");
    while (ok_ && !take("\"")) {
      if (rest_.empty()) {
        ok_ = false;
      } else if (take("\\u00")) {
        out += escaped();
      } else {
        (void)take("\\");
        ok_ = ok_ && !rest_.empty();
        if (!ok_) break;
        out += rest_.front();
        rest_.remove_prefix(1);
      }
    }
    return out;
  }

  // Items between commas until `end`.
  template <class Item>
  void list(std::string_view end, Item item) {
    if (take(end)) return;
    do {
      item();
    } while (ok_ && take(","));
    need(end);
  }

  bool done() const { return ok_ && rest_.empty(); }

 private:
  char escaped() {
    unsigned code = 0;
    const std::string_view digits = rest_.substr(0, 2);
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
    ok_ = ok_ && digits.size() == 2 && error == std::errc{} && end == digits.data() + 2;
    if (ok_) rest_.remove_prefix(2);
    return static_cast<char>(code);
  }

  std::string_view rest_;
  bool ok_ = true;
};

EndedAttempt take_attempt(Parser& in) {
  EndedAttempt attempt;
  in.need("{\"number\":");
  in.number(attempt.number);
  in.need(",\"lease\":");
  in.number(attempt.lease);
  in.need(",\"gpus\":[");
  in.list("]", [&] { attempt.gpus.push_back(in.text()); });
  in.need(",\"started_ns\":");
  in.number(attempt.started_ns);
  in.need(",\"ended_ns\":");
  in.number(attempt.ended_ns);
  in.need(",\"outcome\":");
  attempt.outcome = in.text();
  in.need(",\"exit_status\":");
  in.number(attempt.exit_status);
  in.need(",\"charge_us\":");
  in.number(attempt.charge_us);
  in.need("}");
  return attempt;
}

}  // namespace

std::string attempts_to_json(std::span<const EndedAttempt> attempts) {
  std::string out = "[";
  put_list(out, attempts, [&](const EndedAttempt& attempt) { put_attempt(out, attempt); });
  return out + "]";
}

std::optional<std::vector<EndedAttempt>> attempts_from_json(std::string_view json) {
  Parser in(json);
  std::vector<EndedAttempt> attempts;
  in.need("[");
  in.list("]", [&] { attempts.push_back(take_attempt(in)); });
  if (!in.done()) return std::nullopt;
  return attempts;
}

std::string labels_to_json(const std::map<std::string, std::string>& labels) {
  std::string out = "{";
  put_list(out, labels, [&](const auto& label) {
    put_text(out, label.first);
    out += ':';
    put_text(out, label.second);
  });
  return out + "}";
}

std::optional<std::map<std::string, std::string>> labels_from_json(std::string_view json) {
  Parser in(json);
  std::map<std::string, std::string> labels;
  in.need("{");
  in.list("}", [&] {
    std::string key = in.text();
    in.need(":");
    labels[std::move(key)] = in.text();
  });
  if (!in.done()) return std::nullopt;
  return labels;
}

}  // namespace berth::store
