// See task_request.h.
#include "cli/task_request.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>

#include "base/units.h"
#include "cli/output_redirect.h"
#include "cli/retry_kinds.h"
#include "cli/surroundings.h"
#include "client/request_id.h"
#include "config/diagnostics.h"

namespace berth::cli {
namespace {

void read_retry_kinds(const std::string& list, v1::RetryRule& retry, Values& values) {
  const std::vector<std::string> names = retry_kind_names();
  std::istringstream words(list);
  for (std::string word; std::getline(words, word, ',');) {
    const auto found = std::ranges::find(names, word);
    if (found == names.end()) {
      values.note("--retry-on: no failure is named " + config::quoted(word) +
                  config::suggestion(word, names));
    } else {
      retry.add_on(retry_kind(static_cast<std::size_t>(found - names.begin())));
    }
  }
}

std::string read_payload(const Call& call, const std::string& given, Values& values) {
  if (!given.starts_with('@')) return given;
  std::ostringstream bytes;
  if (given == "@-") {
    if (call.console.data == nullptr)
      values.note("--payload: there is no standard input to read");
    else
      bytes << call.console.data->rdbuf();
    return bytes.str();
  }
  std::ifstream file(given.substr(1), std::ios::binary);
  if (file) bytes << file.rdbuf();
  if (!file || file.bad()) values.note("--payload: cannot read " + config::quoted(given.substr(1)));
  return bytes.str();
}

void read_retry(v1::TaskSpec& spec, Values& values) {
  if (const auto attempts = values.integer("--attempts", 1, 255))
    spec.mutable_retry()->set_attempts(static_cast<std::uint32_t>(*attempts));
  if (const auto backoff = values.duration_ms("--backoff", 0))
    spec.mutable_retry()->set_backoff_ms(*backoff);
  if (values.has("--retry-on"))
    read_retry_kinds(values.text("--retry-on"), *spec.mutable_retry(), values);
}

void read_times(v1::TaskSpec& spec, Values& values) {
  spec.set_expected_run_ms(values.duration_ms("--expected-run").value_or(0));
  spec.set_run_limit_ms(values.duration_ms("--run-limit").value_or(0));
  spec.set_tolerated_wait_ms(values.duration_ms("--tolerated-wait").value_or(0));
  spec.set_checkpoint_interval_ms(values.duration_ms("--checkpoint-interval", 0).value_or(0));
  spec.set_restart_cost_ms(values.duration_ms("--restart-cost", 0).value_or(0));
  spec.set_not_before_unix_ms(values.instant_ms("--not-before").value_or(0));
  spec.set_deadline_unix_ms(values.instant_ms("--deadline").value_or(0));
  spec.set_stop_grace_ms(values.duration_ms("--stop-grace").value_or(0));
  spec.set_result_ttl_ms(values.duration_ms("--result-ttl").value_or(0));
}

void read_needs(const Call& call, v1::TaskSpec& spec, Values& values) {
  spec.set_gpu_memory_mb(values.size_mb("--vram").value_or(0));
  if (const auto gpus = values.integer("--gpus", 0, 1'000'000))
    spec.set_gpus(static_cast<std::uint32_t>(*gpus));
  spec.set_share_milli(static_cast<std::uint32_t>(values.share_milli("--share").value_or(0)));
  for (const std::string& kind : call.args.values("--gpu-kind"))
    spec.add_gpu_kinds(kind);
  spec.set_groups(static_cast<std::uint32_t>(values.integer("--groups", 1, 1'000'000).value_or(0)));
  spec.set_within(values.text("--within"));
  spec.set_required(values.has("--required"));
  spec.set_mig_profile(values.text("--mig-profile"));
  spec.set_cpus_milli(static_cast<std::uint32_t>(values.cpus_milli("--cpus").value_or(0)));
  spec.set_memory_mb(values.size_mb("--memory").value_or(0));
}

void read_order(v1::TaskSpec& spec, Values& values) {
  spec.set_priority(static_cast<std::int32_t>(
      values.integer("--priority", kPriorityMin, kPriorityMax).value_or(0)));
  if (const auto tier = values.integer("--tier", 0, 3))
    spec.set_tier(static_cast<std::uint32_t>(*tier));
  spec.set_tokens(
      static_cast<std::uint32_t>(values.integer("--tokens", 1, UINT32_MAX).value_or(0)));
}

// "0-99%10": the server reads the indices. An array is a group of its own; without an id it gets
// one that is new each time, so that a script may be submitted again.
void read_array(v1::TaskSpec& spec, Values& values) {
  if (!values.has("--array")) return;
  const std::string text = values.text("--array");
  const std::size_t percent = text.find('%');
  spec.mutable_array()->set_indices(text.substr(0, percent));
  if (spec.task_id().empty()) {
    const std::string name = spec.group().empty() ? "array" : spec.group();
    spec.set_task_id(name + "-" + client::make_request_id().substr(0, 8));
    spec.clear_group();
  }
  if (values.has("--follow"))
    values.note("--follow shows the output of one task; use --wait for an array");
  if (percent == std::string::npos) return;
  std::uint32_t at_once = 0;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data() + percent + 1, end, at_once);
  if (read.ec != std::errc() || read.ptr != end || at_once == 0)
    values.note("--array: expected a number of tasks behind %, as in 0-99%10");
  spec.mutable_array()->set_at_once(at_once);
}

void read_command(const Call& call, const BatchScript* script, v1::TaskSpec& spec, Values& values) {
  const std::vector<std::string>& words = call.args.positional();
  if (script != nullptr) {
    *spec.mutable_command() = command_of(*script, std::span(words).subspan(1));
  } else {
    spec.mutable_command()->mutable_argv()->Assign(words.begin(), words.end());
  }
  read_surroundings(call, spec, values);
  if (!values.has("--output") && !values.has("--error")) return;
  auto whole = redirected(spec.command(), values.text("--output"), values.text("--error"),
                          values.text("--group"));
  if (whole)
    *spec.mutable_command() = std::move(*whole);
  else
    values.note(whole.error().message);
}

void read_work(const Call& call, const BatchScript* script, v1::TaskSpec& spec, Values& values) {
  const bool has_command = !call.args.positional().empty();
  if (has_command && values.has("--payload")) {
    values.note("give a command or --payload, not both");
  } else if (has_command) {
    read_command(call, script, spec, values);
  } else if (values.has("--payload")) {
    spec.set_payload(read_payload(call, values.text("--payload"), values));
    for (const char* flag : {"--env", "--workdir", "--output", "--error"}) {
      if (values.has(flag))
        values.note(std::string(flag) + " is for commands, not for a --payload");
    }
  } else {
    values.note("give a command behind --, a script, or --payload");
  }
  spec.set_stop_signal(values.text("--stop-signal"));
}

}  // namespace

v1::SubmitTaskRequest read_task_request(const Call& call, const BatchScript* script,
                                        Values& values) {
  v1::SubmitTaskRequest request;
  request.set_request_id(values.text("--request-id"));
  v1::TaskSpec& spec = *request.mutable_task();
  spec.set_task_id(values.text("--id"));
  spec.set_user_id(values.text("--tenant"));
  spec.set_task_type(values.text("--queue"));
  if (spec.task_type().empty()) values.note("expected --queue QUEUE; 'berth queues' lists them");
  spec.set_group(values.text("--group"));
  for (auto& [key, value] : values.pairs("--label"))
    (*spec.mutable_labels())[key] = value;
  for (const std::string& id : call.args.values("--depends-on"))
    spec.add_depends_on(id);
  spec.set_run_after_failure(values.has("--run-after-failure"));
  spec.set_held(values.has("--held"));
  if (values.has("--at-most-once")) spec.set_start(v1::AT_MOST_ONCE);
  read_needs(call, spec, values);
  read_order(spec, values);
  read_array(spec, values);
  read_times(spec, values);
  read_retry(spec, values);
  read_work(call, script, spec, values);
  return request;
}

}  // namespace berth::cli
