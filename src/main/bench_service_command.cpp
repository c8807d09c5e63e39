// berth bench service.
#include <filesystem>
#include <string>

#include <unistd.h>

#include "base/json.h"
#include "cli/table.h"
#include "main/bench_service.h"
#include "main/commands.h"

namespace berth::main {
namespace {

constexpr cli::Flag kFlags[] = {
    {"--folder", "PATH", "where the server keeps its data meanwhile (default: build/bench-PID)"},
    {"--tasks", "N", "streamed tasks; the other parts follow (default 940000)"},
    {"--json", "", "print the result as JSON"}};

void print_json(std::ostream& out, const ServiceBenchResult& r) {
  JsonWriter json;
  json.begin_object()
      .member("submit_unary_per_s", r.submit_unary_per_s)
      .member("submit_stream_per_s", r.submit_stream_per_s)
      .member("end_to_end_per_s", r.end_to_end_per_s)
      .member("restart_s", r.restart_s)
      .member("restart_live_tasks", r.restart_live_tasks);
  json.key("submit_ms").begin_object().member("p50", r.submit_ms.p50);
  json.member("p99", r.submit_ms.p99).end_object();
  json.key("dispatch_ms").begin_object().member("p50", r.dispatch_ms.p50);
  json.member("p99", r.dispatch_ms.p99).member("at_tasks_per_s", r.paced_per_s).end_object();
  json.end_object();
  out << json.text() << "\n";
}

void print_table(std::ostream& out, const ServiceBenchResult& r) {
  const auto whole = [](double number) {
    return cli::count_text(static_cast<std::uint64_t>(number));
  };
  cli::Table table;
  table.add({"figure", "value"});
  table.add({"unary submits, 256 outstanding", whole(r.submit_unary_per_s) + "/s"});
  table.add({"streamed submits", whole(r.submit_stream_per_s) + "/s"});
  table.add({"end to end, zero-time tasks", whole(r.end_to_end_per_s) + "/s"});
  table.add({"restart with " + cli::count_text(r.restart_live_tasks) + " live tasks",
             cli::milliseconds_text(r.restart_s * 1e3)});
  table.add({"unary submit, p50", cli::milliseconds_text(r.submit_ms.p50)});
  table.add({"unary submit, p99", cli::milliseconds_text(r.submit_ms.p99)});
  table.add({"dispatch at " + whole(r.paced_per_s) + " tasks/s, p50",
             cli::milliseconds_text(r.dispatch_ms.p50)});
  table.add({"dispatch, p99", cli::milliseconds_text(r.dispatch_ms.p99)});
  table.print(out);
}

int run(const cli::Call& call) {
  ServiceBenchOptions options;
  options.folder =
      call.args.value("--folder").value_or("build/bench-" + std::to_string(::getpid()));
  if (const auto text = call.args.value("--tasks")) {
    const auto tasks = cli::parse_integer(*text, 1'000, 100'000'000);
    if (!tasks) return cli::bad_usage(call, "--tasks: expected an integer from 1000 to 100000000");
    options.stream_tasks = static_cast<std::uint64_t>(*tasks);
    options.end_to_end_tasks = options.stream_tasks / 3;
    options.unary_tasks = options.stream_tasks / 15;
  }
  options.progress = [&](const std::string& part) {
    call.console.err << part << " …\n" << std::flush;
  };
  const Result<ServiceBenchResult> result = bench_service(options);
  if (!result) return cli::complain(call.console, result.error().message);
  if (call.args.has("--json")) {
    print_json(call.console.out, *result);
  } else {
    print_table(call.console.out, *result);
  }
  return cli::kOk;
}

constexpr cli::Command kBenchServiceCommands[] = {
    {"bench service",
     cli::Group::local,
     "measure the whole service through its API",
     "[OPTIONS]",
     run,
     cli::Reach::local,
     kFlags,
     {},
     "Starts a server of its own on free ports, with its data on disk and simulated work that "
     "takes\n"
     "no time, and submits to it. Every acknowledged task is durable. Client and server share the\n"
     "machine."},
};

}  // namespace

std::span<const cli::Command> service_bench_commands() { return kBenchServiceCommands; }

}  // namespace berth::main
