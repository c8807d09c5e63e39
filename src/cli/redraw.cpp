// See redraw.h.
#include "cli/redraw.h"

#include <algorithm>
#include <chrono>
#include <sstream>
#include <thread>

#include "cli/text.h"
#include "cli/values.h"

namespace berth::cli {
namespace {

using namespace std::chrono_literals;
using RedrawClock = std::chrono::steady_clock;

constexpr std::int64_t kEveryDefaultMs = 2000;
constexpr std::int64_t kEveryMinMs = 100;  // so that nobody asks a server without a pause
constexpr auto kServerAwayMax = 60s;
constexpr const char* kHomeAndClear = "\x1b[H\x1b[2J";

struct Page {
  int code = kOk;
  std::string out;
  std::string err;
};

Page page_of(const Call& call) {
  std::ostringstream out;
  std::ostringstream err;
  Console console{.out = out, .err = err};
  console.out_is_terminal = call.console.out_is_terminal;
  console.env = call.console.env;
  console.folder = call.console.folder;
  console.catch_interrupts = call.console.catch_interrupts;
  console.now_unix_ms = call.console.now_unix_ms;
  const int code = call.command.run({call.command, call.args, console, call.commands});
  return {code, out.str(), err.str()};
}

// As much of the text as a terminal of so many rows can hold, and how many lines are missing.
std::string cut_to(std::string text, int rows) {
  std::size_t at = 0;
  for (int row = 0; row < rows && at != text.npos && at < text.size(); ++row) {
    const std::size_t end = text.find('\n', at);
    at = end == text.npos ? end : end + 1;
  }
  if (at >= text.size()) return text;
  const auto missing = std::count(text.begin() + static_cast<std::ptrdiff_t>(at), text.end(), '\n');
  return text.substr(0, at) + "… " + std::to_string(missing) + " more lines";
}

void draw(const Call& call, const Page& page, std::int64_t every_ms, bool is_first) {
  Console& console = call.console;
  const std::string format = call.args.value("-o").value_or("table");
  const bool for_people = format == "table" || format == "wide";
  if (!for_people) {
    if (format == "yaml") console.out << "---\n";
    console.out << page.out << std::flush;
    console.err << page.err;
    return;
  }
  if (!console.out_is_terminal) {
    console.out << (is_first ? "" : "\n") << page.out << std::flush;
    console.err << page.err;
    return;
  }
  const std::string head = "every " + time_text(every_ms) + ": berth " +
                           std::string(call.command.name) + "   " +
                           instant_text(console.now_unix_ms()) + "\n\n";
  const int rows = console.rows ? console.rows() : 0;
  std::string text = page.out + page.err;
  constexpr int kRowsOfHead = 3;  // with the line that says what is missing
  if (rows > kRowsOfHead) text = cut_to(std::move(text), rows - kRowsOfHead);
  console.out << kHomeAndClear << head << text << std::flush;
}

}  // namespace

int run_again_and_again(const Call& call) {
  Values values(call);
  const std::int64_t every_ms =
      values.duration_ms("--every", kEveryMinMs).value_or(kEveryDefaultMs);
  const auto timeout_ms = values.duration_ms("--timeout");
  if (!values.ok()) return values.refuse();
  const std::atomic<bool>* interrupted =
      call.console.catch_interrupts ? &call.console.catch_interrupts() : nullptr;
  const auto is_interrupted = [&] { return interrupted != nullptr && interrupted->load(); };
  const auto until = timeout_ms ? RedrawClock::now() + std::chrono::milliseconds(*timeout_ms)
                                : RedrawClock::time_point::max();
  auto seen = RedrawClock::now();  // when the server last answered
  for (bool is_first = true; !is_interrupted(); is_first = false) {
    const Page page = page_of(call);
    if (is_interrupted()) break;
    const auto now = RedrawClock::now();
    if (page.code == kOk) seen = now;
    const bool may_pass = page.code == kUnavailable && !is_first && now - seen < kServerAwayMax;
    if (page.code != kOk && !may_pass) {
      call.console.out << page.out;
      call.console.err << page.err;
      return page.code;
    }
    draw(call, page, every_ms, is_first);
    const auto next = std::min(until, now + std::chrono::milliseconds(every_ms));
    while (RedrawClock::now() < next && !is_interrupted())
      std::this_thread::sleep_for(10ms);
    if (RedrawClock::now() >= until) return kTimedOut;
  }
  call.console.err << "\nstopped watching\n";
  return kDetached;
}

}  // namespace berth::cli
