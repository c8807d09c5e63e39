// See history_json.h.
#include "store/history_json.h"

#include <charconv>
#include <cstdint>
#include <system_error>
#include <utility>

#include "base/json.h"

namespace berth::store {
namespace {

void put_attempt(JsonWriter& json, const EndedAttempt& attempt) {
  json.begin_object();
  json.member("number", attempt.number).member("lease", attempt.lease);
  json.members("gpus", attempt.gpus);
  json.member("started_ns", attempt.started_ns).member("ended_ns", attempt.ended_ns);
  json.member("outcome", attempt.outcome).member("exit_status", attempt.exit_status);
  json.member("charge_us", attempt.charge_us).end_object();
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
  JsonWriter json(0);
  json.begin_array();
  for (const EndedAttempt& attempt : attempts)
    put_attempt(json, attempt);
  return json.end_array().text();
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
  JsonWriter json(0);
  json.begin_object();
  for (const auto& [key, value] : labels)
    json.member(key, value);
  return json.end_object().text();
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
