// berth signals, berth signals reset: what tasks wait for from outside.
#include <array>

#include "cli/cluster_listings.h"
#include "cli/commands.h"
#include "cli/session.h"
#include "cli/text.h"

namespace berth::cli {
namespace {

constexpr int kSignalsAtOnce = 1'000;

constexpr std::array kSignalsFlags = {
    Flag{"--tenant", "TENANT", "only this tenant's (default: all that you may see)"},
};
constexpr std::array kResetFlags = {
    Flag{"--tenant", "TENANT", "the tenant of the signal (default: the token's, or \"default\")"},
};
constexpr std::array kSignalName = {Positional{"SIGNAL", "the NAME in --depends-on signal:NAME"}};
constexpr std::array<std::string_view, 2> kSignalsExamples = {"berth signals",
                                                              "berth signals --tenant research"};
constexpr std::array<std::string_view, 1> kResetExamples = {"berth signals reset data-ready"};

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
  Listing listing = list_of(all, session->now_unix_ms());
  code = session->show(all, listing);
  if (code == kOk && session->as_table() && listing.empty())
    session->say("there are no signals; a task waits for one by --depends-on signal:NAME");
  return code;
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
  if (session->as_document()) session->print_document(*answer);
  session->say("reset; new tasks wait for it again; next: berth resolve " + shell_word(signal));
  return kOk;
}

constexpr std::array kSignalCommands = {
    Command{
        .name = "signals",
        .group = Group::work,
        .summary = "show the signals that tasks wait for, or that were given",
        .usage = "[OPTIONS]",
        .run = run_signals,
        .reach = Reach::server,
        .flags = kSignalsFlags,
        .description =
            "A signal that was given stays given: later tasks do not wait for it. That ends when\n"
            "somebody resets it, or when the server forgets it, as it forgets ids.",
        .examples = kSignalsExamples,
        .shows = Shows::list},
    Command{.name = "signals reset",
            .group = Group::work,
            .summary = "take back a signal that was given",
            .usage = "SIGNAL [OPTIONS]",
            .run = run_reset,
            .reach = Reach::server,
            .flags = kResetFlags,
            .positional = kSignalName,
            .description = "New tasks wait for it again. Tasks that it released stay released.",
            .examples = kResetExamples},
};

}  // namespace

std::span<const Command> signal_commands() { return kSignalCommands; }

}  // namespace berth::cli
