// berth signals, berth signals reset: what tasks wait for from outside.
#include <array>

#include "cli/commands.h"
#include "cli/listing.h"
#include "cli/session.h"
#include "cli/table.h"
#include "cli/text.h"

namespace berth::cli {
namespace {

constexpr int kSignalsAtOnce = 1'000;

constexpr std::array kSignalsFlags = {
    Flag{"--tenant", "TENANT", "only this one's (default: all that you may see)"},
};
constexpr std::array kResetFlags = {
    Flag{"--tenant", "TENANT", "whose signal it is (default: the token's)"},
};
constexpr std::array kSignalName = {
    Positional{"SIGNAL", "the NAME of a dependency \"signal:NAME\""}};
constexpr std::array<std::string_view, 2> kSignalsExamples = {"berth signals",
                                                              "berth signals --tenant research"};
constexpr std::array<std::string_view, 1> kResetExamples = {"berth signals reset data-ready"};

Listing signals_listing(const v1::ListSignalsResponse& answer, std::int64_t now) {
  Listing listing({{"SIGNAL"}, {"TENANT"}, {"STATE"}, {"WAITERS", true}, {"SINCE", true}});
  for (const v1::Signal& signal : answer.signals()) {
    const std::int64_t since = signal.since_unix_ms();
    listing.add({signal.name(), signal.user_id(),
                 signal.given() ? Cell("given", Colour::green) : Cell("awaited", Colour::yellow),
                 count_text(signal.waiters()), since == 0 ? "" : age_text(now - since)});
  }
  return listing;
}

int run_signals(const Call& call) {
  int code = kOk;
  auto session = Session::open(call, code);
  if (!session) return code;
  v1::ListSignalsRequest request;
  request.set_user_id(call.args.value("--tenant").value_or(""));
  request.set_page_size(kSignalsAtOnce);
  v1::ListSignalsResponse all;
  do {
    auto page = session->client().signals(request);
    if (!page) return session->fail("show the signals", page.failure());
    all.mutable_signals()->MergeFrom(page->signals());
    request.set_page_token(page->next_page_token());
  } while (!request.page_token().empty());
  const Listing listing = signals_listing(all, session->now_unix_ms());
  session->show(all, listing);
  const bool for_people = session->format() == Format::table || session->format() == Format::wide;
  if (for_people && listing.empty()) {
    session->say("there are no signals; a task waits for one by --depends-on signal:NAME");
  }
  return kOk;
}

int run_reset(const Call& call) {
  int code = kOk;
  auto session = Session::open(call, code);
  if (!session) return code;
  const std::string& signal = call.args.positional().front();
  v1::ResetSignalRequest request;
  request.set_signal(signal);
  request.set_user_id(call.args.value("--tenant").value_or(""));
  const auto answer = session->client().reset_signal(request);
  if (!answer) return session->fail("reset signal " + signal, answer.failure());
  if (session->format() == Format::json) session->print_json(*answer);
  session->say("reset; tasks that come wait for it again; next: berth resolve " +
               shell_word(signal));
  return kOk;
}

constexpr std::array kSignalCommands = {
    Command{.name = "signals",
            .group = Group::work,
            .summary = "show the signals that are awaited or given",
            .usage = "[OPTIONS]",
            .run = run_signals,
            .reach = Reach::server,
            .flags = kSignalsFlags,
            .description =
                "A signal that was given stays given: tasks that come later do not wait for it,\n"
                "until it is reset, or forgotten after as long as ids are.",
            .examples = kSignalsExamples},
    Command{.name = "signals reset",
            .group = Group::work,
            .summary = "take back a signal that was given",
            .usage = "SIGNAL [OPTIONS]",
            .run = run_reset,
            .reach = Reach::server,
            .flags = kResetFlags,
            .positional = kSignalName,
            .description = "Tasks that come wait for it again; those that it has let go stay so.",
            .examples = kResetExamples},
};

}  // namespace

std::span<const Command> signal_commands() { return kSignalCommands; }

}  // namespace berth::cli
