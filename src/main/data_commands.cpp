// berth sql, replay, fsck, restore: work on a data folder, with or without a running server.
#include <chrono>
#include <filesystem>

#include "cli/listing.h"
#include "main/action_text.h"
#include "main/commands.h"
#include "main/config_sources.h"
#include "main/document.h"
#include "service/rebuild_history.h"
#include "service/replay_check.h"
#include "store/backup.h"
#include "store/fsck.h"
#include "store/history.h"
#include "store/layout.h"

namespace berth::main {
namespace {

constexpr cli::Flag kFolderFlags[] = {kDataFlag, kConfigFlag};
constexpr cli::Flag kSqlFlags[] = {
    kDataFlag,
    kConfigFlag,
    {"--output", "table|csv|json", "how rows are printed (default: table)"}};
constexpr cli::Flag kFsckFlags[] = {
    kDataFlag,
    kConfigFlag,
    {"--cut", "", "last resort: cuts a damaged journal behind its last whole group"},
    {"--rebuild-history", "", "makes a damaged history anew, from the journal and its good rows"},
    kFormatFlag};
constexpr cli::Flag kReplayFlags[] = {
    {"--ledger", "", "each tenant's: what it was charged, given back, and net with all below it"},
    kFormatFlag};
constexpr cli::Positional kQuery[] = {{"QUERY", "one statement that only reads"}};
constexpr cli::Positional kReplayPath[] = {{"PATH", "a data folder, or a backup"}};
constexpr cli::Positional kRestorePath[] = {{"BACKUP", "a folder that `berth backup` made"}};

constexpr std::string_view kSqlExamples[] = {
    "berth sql \"select state, count(*) from tasks group by state\"",
    "berth sql \"select * from usage order by day desc limit 10\"",
};

std::optional<std::filesystem::path> data_folder(const cli::Call& call) {
  const auto loaded = load_for(call, config_sources(call));
  if (!loaded) return std::nullopt;
  return loaded->config.server.data;
}

int sql(const cli::Call& call) {
  const auto data = data_folder(call);
  if (!data) return cli::kBadInput;
  const auto reader = store::HistoryReader::open(store::history_path(*data));
  if (!reader) return cli::complain(call.console, reader.error().message);
  const auto result = (*reader)->query(call.args.positional().front());
  if (!result) return cli::complain(call.console, result.error().message, cli::kBadInput);
  print_rows(call.console.out, *result, call.args.value("--output").value_or("table"));
  if (result->cut) call.console.err << "more rows follow; use limit to choose\n";
  return cli::kOk;
}

// GPU time in microseconds, as it is kept: sums of what is shown are sums of what was charged.
void print_ledger(std::ostream& out, const service::ReplayReport& report) {
  const auto us = [](std::int64_t amount) { return std::to_string(amount); };
  cli::Listing listing({{"TENANT"},
                        {"CHARGED-US", true},
                        {"REFUNDED-US", true},
                        {"NET-US", true},
                        {"NET-WITH-BELOW-US", true}});
  for (const service::AuditLine& line : report.ledger) {
    listing.add({line.tenant, us(line.engine.charged_us), us(line.engine.refunded_us),
                 us(line.engine.net_us()), us(line.with_below.net_us())});
  }
  listing.print(out, {});
}

void print_audit(std::ostream& out, const service::ReplayReport& report, bool in_full) {
  if (in_full) print_ledger(out, report);
  core::LedgerLine cluster;
  for (const service::AuditLine& line : report.ledger)
    cluster += line.engine;
  out << "ledger of " << report.ledger.size() << " tenants: charged " << cluster.charged_us
      << " us, refunded " << cluster.refunded_us << ", net " << cluster.net_us() << "; "
      << (report.ledger_agrees() ? "it agrees with the actions\n"
                                 : "it does not agree with the actions\n");
  for (const service::AuditLine& line : report.ledger) {
    if (line.engine == line.journal) continue;
    out << "  " << line.tenant << ": the engine charged " << line.engine.charged_us
        << " us and refunded " << line.engine.refunded_us << ", by the actions "
        << line.journal.charged_us << " and " << line.journal.refunded_us << "\n";
  }
  for (const TaskNo task : report.mispriced)
    out << "  task t-" << task.value << ": its first charge is not what its batch's price makes\n";
}

void print_replay(const cli::Call& call, const service::ReplayReport& report, double took_s) {
  JsonWriter json;
  json.begin_object().member("identical", !report.difference.has_value());
  json.member("events", report.events).member("actions", report.actions);
  json.member("groups", report.groups).member("applied_groups", report.applied_groups);
  json.member("seconds", took_s).member("hash", hex_text(report.hash));
  if (report.difference) {
    const service::ReplayDifference& found = *report.difference;
    json.key("difference").begin_object().member("event", found.seq);
    json.member("what", text_of(found.event));
    json.member("recorded", found.recorded ? text_of(*found.recorded) : "");
    json.member("decided", found.decided ? text_of(*found.decided) : "").end_object();
  } else {
    json.member("ledger_agrees", report.ledger_agrees());
  }
  if (call.args.has("--ledger")) {
    json.key("ledger").begin_array();
    for (const service::AuditLine& line : report.ledger) {
      json.begin_object().member("tenant", line.tenant);
      json.member("charged_us", line.engine.charged_us);
      json.member("refunded_us", line.engine.refunded_us).member("net_us", line.engine.net_us());
      json.member("net_with_below_us", line.with_below.net_us()).end_object();
    }
    json.end_array();
  }
  json.end_object();
  print_document(call, json);
}

int replay(const cli::Call& call) {
  if (!has_good_format(call)) return cli::kBadInput;
  const std::filesystem::path data = call.args.positional().front();
  const auto progress = [&](std::uint64_t events) {
    if (call.console.err_is_terminal) call.console.err << "\r" << events << " events" << std::flush;
  };
  const auto begin = std::chrono::steady_clock::now();
  const auto report = service::replay(data, progress);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  if (call.console.err_is_terminal) call.console.err << "\r";
  if (!report) return cli::complain(call.console, report.error().message);
  if (wants_document(call)) {
    print_replay(call, *report, took.count());
    return report->difference || !report->ledger_agrees() ? cli::kFailed : cli::kOk;
  }
  call.console.out << "replayed " << report->events << " events and " << report->actions
                   << " actions in " << report->groups << " groups, " << took.count() << " s\n";
  if (report->applied_groups > 0) {
    call.console.out << report->applied_groups
                     << " groups were decided by another behaviour; they were applied only\n";
  }
  if (!report->difference) {
    call.console.out << "identical; hash " << hex_text(report->hash) << "\n";
    print_audit(call.console.out, *report, call.args.has("--ledger"));
    return report->ledger_agrees() ? cli::kOk : cli::kFailed;
  }
  const service::ReplayDifference& found = *report->difference;
  call.console.out << "different from event " << found.seq << " on: " << text_of(found.event)
                   << "\n  recorded: " << (found.recorded ? text_of(*found.recorded) : "nothing")
                   << "\n  decided:  " << (found.decided ? text_of(*found.decided) : "nothing")
                   << "\n";
  return cli::kFailed;
}

int rebuild_history(const cli::Call& call, const config::ServerConfig& config) {
  const auto done = service::rebuild_history(config.server.data, config.store.result_ttl);
  if (!done) return cli::complain(call.console, done.error().message);
  call.console.out << "took " << done->from_journal
                   << " tasks from the journal, which reaches back "
                   << "to event " << done->reaches_from << ", and " << done->from_old
                   << " rows of the old history, where the journal had none\n";
  if (done->unread > 0) {
    call.console.out
        << done->unread
        << " rows of the old history cannot be read; those of them that the journal no "
           "longer has are lost\n";
  }
  if (!done->kept.empty())
    call.console.out << "the old one is kept as " << done->kept.string() << "\n";
  return cli::kOk;
}

void print_report(const cli::Call& call, const store::FsckReport& report) {
  JsonWriter json;
  json.begin_object().member("healthy", report.healthy()).key("findings").begin_array();
  for (const store::FsckFinding& finding : report.findings) {
    json.begin_object().member("severity", store::name_of(finding.severity));
    json.member("what", finding.what).member("where", finding.where);
    json.member("repair", finding.repair).end_object();
  }
  json.end_array().key("journal").begin_object().member("groups", report.journal.groups);
  json.member("events", report.journal.events);
  json.member("segments", report.journal.segments.size()).end_object();
  json.member("snapshots", report.snapshots).end_object();
  print_document(call, json);
}

int fsck(const cli::Call& call) {
  if (!has_good_format(call)) return cli::kBadInput;
  const auto loaded = load_for(call, config_sources(call));
  if (!loaded) return cli::kBadInput;
  if (call.args.has("--rebuild-history")) return rebuild_history(call, loaded->config);
  const std::filesystem::path data = loaded->config.server.data;
  if (call.args.has("--cut")) {
    const auto cut = store::cut_journal(data);
    if (!cut) return cli::complain(call.console, cut.error().message);
    call.console.out << "cut before event " << cut->next_seq << "; what was cut away lies in "
                     << cut->moved_to.string() << "\n";
    return cli::kOk;
  }
  const store::FsckReport report = store::fsck(data);
  if (wants_document(call)) {
    print_report(call, report);
    return report.healthy() ? cli::kOk : cli::kFailed;
  }
  for (const store::FsckFinding& finding : report.findings) {
    call.console.out << store::name_of(finding.severity) << ": " << finding.what << " ("
                     << finding.where << ")\n  " << finding.repair << "\n";
  }
  call.console.out << "journal: " << report.journal.groups << " groups, " << report.journal.events
                   << " events, " << report.journal.segments.size() << " segments\n"
                   << "snapshots: " << report.snapshots << "\n"
                   << (report.healthy() ? "healthy\n" : "damaged\n");
  return report.healthy() ? cli::kOk : cli::kFailed;
}

int restore(const cli::Call& call) {
  const auto data = data_folder(call);
  if (!data) return cli::kBadInput;
  const auto done = store::restore(call.args.positional().front(), *data);
  if (!done) return cli::complain(call.console, done.error().message);
  call.console.out << "restored " << done->bytes << " bytes, all events before " << done->next_seq
                   << ", into " << data->string() << "\n";
  return cli::kOk;
}

constexpr cli::Command kDataCommands[] = {
    {"sql", cli::Group::local, "ask the history, read only", "QUERY [OPTIONS]", sql,
     cli::Reach::local, kSqlFlags, kQuery,
     "Views: tasks, attempts, events, usage. See docs/guide/history.md.", kSqlExamples},
    {"replay", cli::Group::local, "decide again over a journal and compare; audit the ledger",
     "PATH [OPTIONS]", replay, cli::Reach::local, kReplayFlags, kReplayPath},
    {"fsck", cli::Group::local, "look for damage in a data folder", "[OPTIONS]", fsck,
     cli::Reach::local, kFsckFlags},
    {"restore", cli::Group::local, "make a data folder from a backup", "BACKUP [OPTIONS]", restore,
     cli::Reach::local, kFolderFlags, kRestorePath},
};

}  // namespace

std::span<const cli::Command> data_commands() { return kDataCommands; }

}  // namespace berth::main
