// See task_spec_reader.h.
#include "api/task_spec_reader.h"

#include <algorithm>
#include <limits>
#include <set>

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/unknown_field_set.h>
#include <google/protobuf/util/message_differencer.h>

#include "api/task_array.h"
#include "api/task_shape_reader.h"
#include "base/units.h"
#include "core/model/ranges.h"
#include "journal/running_hash.h"
#include "service/clock.h"

namespace berth::api {
namespace {

constexpr std::string_view kSignalPrefix = "signal:";
constexpr std::int64_t kMsMax = core::kDurationMax.ns / 1'000'000;
constexpr std::int64_t kUnixMsMax = std::numeric_limits<std::int64_t>::max() / 1'000'000 - 1;
constexpr Time kLastInstant{kUnixMsMax * 1'000'000};
constexpr std::string_view kStopSignals[] = {"TERM", "INT", "HUP", "QUIT", "USR1", "USR2"};

bool has_nul(std::string_view text) { return text.find('\0') != std::string_view::npos; }

std::string between(std::int64_t low, std::int64_t high) {
  return "must be between " + std::to_string(low) + " and " + std::to_string(high);
}

// One pass over the fields; each part fills its share of the task and notes what is wrong.
class SpecReader {
 public:
  SpecReader(const v1::TaskSpec& spec, const SpecContext& context)
      : spec_(spec), context_(context) {}

  std::variant<service::NewTask, std::vector<FieldFlaw>> read() {
    task_.card = std::make_shared<service::TaskCard>();
    read_names();
    read_place();
    read_shape();
    read_work();
    read_times();
    read_retry();
    read_dependencies();
    read_labels();
    refuse_unknown_fields();
    check_against_core();
    if (!flaws_.empty()) return std::move(flaws_);
    fill_card();
    return std::move(task_);
  }

 private:
  void wrong(std::string_view field, std::string flaw) {
    flaws_.push_back({context_.path + std::string(field), std::move(flaw)});
  }
  bool check_name(std::string_view field, std::string_view name) {
    std::string flaw = flaw_in_name(name);
    if (flaw.empty()) return true;
    wrong(field, std::move(flaw));
    return false;
  }
  bool within(std::string_view field, std::int64_t value, std::int64_t low, std::int64_t high) {
    if (value >= low && value <= high) return true;
    wrong(field, between(low, high) + ", not " + std::to_string(value));
    return false;
  }
  Duration duration(std::string_view field, std::int64_t ms) {
    return within(field, ms, 0, kMsMax) ? milliseconds(ms) : Duration{0};
  }

  void read_names() {
    if (!spec_.task_id().empty()) {
      std::string flaw = flaw_in_task_id(spec_.task_id());
      if (!flaw.empty()) wrong("task_id", std::move(flaw));
    }
    check_name("user_id", context_.tenant);
    if (spec_.task_type().empty()) {
      wrong("task_type", "is required: the name of a queue");
    } else {
      check_name("task_type", spec_.task_type());
    }
    if (!spec_.group().empty()) check_name("group", spec_.group());
    if (is_array(spec_)) {
      wrong("array", "has no place in a stream; submit it by itself or in a workflow");
    }
    task_.in_array = spec_.has_array();
    if (!context_.request_id.empty()) {
      if (std::string flaw = flaw_in_name(context_.request_id); !flaw.empty()) {
        flaws_.push_back({"request_id", std::move(flaw)});
      }
    }
    task_.tenant = context_.tenant;
    task_.queue = spec_.task_type();
  }

  void read_place() {
    if (spec_.has_tier() && within("tier", spec_.tier(), 0, core::kTiers - 1)) {
      task_.tier = static_cast<std::uint8_t>(spec_.tier());
    }
    if (within("priority", spec_.priority(), kPriorityMin, kPriorityMax)) {
      task_.spec.priority = static_cast<std::int16_t>(spec_.priority());
    }
    const std::uint32_t tokens = spec_.tokens() == 0 ? 1 : spec_.tokens();
    task_.spec.tokens = tokens;
    task_.spec.held = spec_.held();
  }

  void read_shape() {
    task_.says_share = spec_.share_milli() > 0;
    for (FieldFlaw& flaw : read_task_shape(spec_, task_.spec))
      wrong(flaw.field, std::move(flaw.flaw));
    task_.gpu_kinds.assign(spec_.gpu_kinds().begin(), spec_.gpu_kinds().end());
  }

  void read_work() {
    const std::size_t payload = spec_.payload().size();
    if (payload > context_.limits.payload_bytes) {
      wrong("payload", "has " + std::to_string(payload) + " bytes; the limit is " +
                           std::to_string(context_.limits.payload_bytes) +
                           " (limits.max_payload); put larger data in a file and pass its name");
    }
    if (spec_.has_command()) {
      task_.has_command = true;
      if (payload > 0) wrong("payload", "a task has a payload or a command, not both");
      read_command();
    } else {
      // On the wire an empty payload is none.
      if (payload == 0) {
        wrong("payload",
              "is empty and there is no command, so the task would do nothing; give a payload for "
              "the queue's executor, or a command to run");
      }
      if (!spec_.env().empty()) wrong("env", "belongs to a command, and there is none");
      if (!spec_.workdir().empty()) wrong("workdir", "belongs to a command, and there is none");
    }
    const std::string& signal = spec_.stop_signal();
    if (!signal.empty() && !std::ranges::count(kStopSignals, std::string_view(signal))) {
      wrong("stop_signal", "must be TERM, INT, HUP, QUIT, USR1 or USR2");
    }
    duration("stop_grace_ms", spec_.stop_grace_ms());
  }

  void read_command() {
    std::size_t bytes = spec_.workdir().size();
    const auto& argv = spec_.command().argv();
    if (argv.empty() || argv[0].empty()) {
      wrong("command.argv", "needs the name of a program as its first word");
    }
    for (int i = 0; i < argv.size(); ++i) {
      bytes += argv[i].size() + 1;
      if (has_nul(argv[i])) wrong("command.argv", "contains a zero byte");
    }
    for (const auto& [name, value] : spec_.env()) {
      bytes += name.size() + value.size() + 2;
      if (name.empty() || name.find('=') != std::string::npos || has_nul(name)) {
        wrong("env", "a name is empty or contains '=' or a zero byte");
      }
      if (has_nul(value)) wrong("env." + name, "contains a zero byte");
    }
    if (bytes > context_.limits.command_bytes) {
      wrong("command", "takes " + std::to_string(bytes) +
                           " bytes with its environment; the limit is " +
                           std::to_string(context_.limits.command_bytes));
    }
    const std::string& workdir = spec_.workdir();
    if (!workdir.empty() && (workdir.front() != '/' || has_nul(workdir))) {
      wrong("workdir", "must be an absolute path");
    }
  }

  void read_times() {
    task_.spec.expected_run = duration("expected_run_ms", spec_.expected_run_ms());
    task_.card->run_limit = duration("run_limit_ms", spec_.run_limit_ms());
    task_.card->result_ttl = duration("result_ttl_ms", spec_.result_ttl_ms());
    const Duration wait = duration("tolerated_wait_ms", spec_.tolerated_wait_ms());
    if (wait.ns > 0) task_.spec.tolerated_wait = wait;
    task_.says_wait = wait.ns > 0;
    task_.spec.checkpoint_interval =
        duration("checkpoint_interval_ms", spec_.checkpoint_interval_ms());
    task_.spec.restart_cost = duration("restart_cost_ms", spec_.restart_cost_ms());
    if (within("not_before_unix_ms", spec_.not_before_unix_ms(), 0, kUnixMsMax)) {
      task_.spec.not_before = instant(spec_.not_before_unix_ms());
    }
    if (spec_.deadline_unix_ms() != 0) read_deadline();
  }

  // 0 and what lies before engine time's beginning: at once.
  Time instant(std::int64_t unix_ms) const {
    const Time wall{unix_ms * 1'000'000};
    if (wall.ns == 0) return wall;
    return std::clamp(service::engine_time(wall, context_.clock), Time{}, kLastInstant);
  }

  void read_deadline() {
    if (!within("deadline_unix_ms", spec_.deadline_unix_ms(), 0, kUnixMsMax)) return;
    const Time deadline = instant(spec_.deadline_unix_ms());
    if (deadline <= context_.now) {
      return wrong("deadline_unix_ms",
                   "has passed: it was " +
                       std::to_string((context_.now - deadline).ns / 1'000'000) +
                       " ms ago by the server's clock");
    }
    if (deadline <= task_.spec.not_before) {
      return wrong("deadline_unix_ms", "is not after not_before_unix_ms: it could never start");
    }
    task_.card->deadline = deadline;
    task_.spec.tolerated_wait = std::min(task_.spec.tolerated_wait, deadline - context_.now);
  }

  void read_retry() {
    const v1::RetryRule& retry = spec_.retry();
    core::RetryRule& rule = task_.spec.retry;
    const std::uint32_t attempts = retry.attempts() == 0 ? 1 : retry.attempts();
    if (within("retry.attempts", attempts, 1, 255)) {
      rule.max_attempts = static_cast<std::uint8_t>(attempts);
    }
    rule.backoff = duration("retry.backoff_ms", retry.backoff_ms());
    if (!retry.on().empty()) rule.on = 0;
    for (const int kind : retry.on())
      rule.on |= retry_bit(kind);
    read_start_rule(attempts);
  }

  std::uint8_t retry_bit(int kind) {
    switch (kind) {
      case v1::ERROR:
        return core::mask_of(core::Failure::error);
      case v1::OUT_OF_MEMORY:
        return core::mask_of(core::Failure::out_of_memory);
      case v1::TIMEOUT:
        return core::mask_of(core::Failure::timeout);
      case v1::CRASH:
        return core::mask_of(core::Failure::crash);
      case v1::INFRASTRUCTURE:
        wrong("retry.on", "INFRASTRUCTURE is always put back and spends no attempt: leave it out");
        return 0;
      default:
        wrong("retry.on", "must name ERROR, OUT_OF_MEMORY, TIMEOUT or CRASH");
        return 0;
    }
  }

  void read_start_rule(std::uint32_t attempts) {
    if (!v1::StartRule_IsValid(spec_.start())) {
      return wrong("start", "must be AT_LEAST_ONCE or AT_MOST_ONCE");
    }
    if (spec_.start() != v1::AT_MOST_ONCE) return;
    task_.spec.retry.on |= core::kLossEndsIt;
    if (attempts != 1) {
      wrong("retry.attempts", "must be 1 for a task that starts at most once");
    }
  }

  void read_dependencies() {
    const auto& wanted = spec_.depends_on();
    if (static_cast<std::size_t>(wanted.size()) > context_.limits.depends_on) {
      wrong("depends_on", "names " + std::to_string(wanted.size()) + "; the limit is " +
                              std::to_string(context_.limits.depends_on));
      return;
    }
    std::set<std::string_view> seen;
    for (int i = 0; i < wanted.size(); ++i) {
      const std::string field = "depends_on[" + std::to_string(i) + "]";
      std::string_view name = wanted[i];
      if (!seen.insert(name).second) wrong(field, "is named twice");
      if (name.starts_with(kSignalPrefix)) name.remove_prefix(kSignalPrefix.size());
      if (!check_name(field, name)) continue;
      if (wanted[i] == spec_.task_id()) wrong(field, "is the task itself");
      if (spec_.has_array() && wanted[i] == spec_.group()) wrong(field, "is the array itself");
      task_.depends_on.push_back(wanted[i]);
    }
    if (spec_.run_after_failure()) {
      task_.spec.on_dependency_failure = core::OnDependencyFailure::release;
    }
  }

  void read_labels() {
    if (spec_.labels().size() > context_.limits.labels) {
      wrong("labels", "there are " + std::to_string(spec_.labels().size()) + "; the limit is " +
                          std::to_string(context_.limits.labels));
      return;
    }
    for (const auto& [key, value] : spec_.labels()) {
      check_name("labels", key);
      if (value.size() > kLabelValueMax) {
        wrong("labels." + key, "has " + std::to_string(value.size()) + " bytes; the limit is " +
                                   std::to_string(kLabelValueMax));
      }
      task_.card->labels.emplace_back(key, value);
    }
    std::ranges::sort(task_.card->labels);
  }

  // A newer client may know more than this server; what it asks for must not be dropped silently.
  void refuse_unknown_fields() {
    refuse_unknown_fields_of(spec_, "");
    if (spec_.has_retry()) refuse_unknown_fields_of(spec_.retry(), "retry.");
    if (spec_.has_command()) refuse_unknown_fields_of(spec_.command(), "command.");
  }
  void refuse_unknown_fields_of(const google::protobuf::Message& message, std::string_view path) {
    const auto& unknown = message.GetReflection()->GetUnknownFields(message);
    for (int i = 0; i < unknown.field_count(); ++i) {
      wrong(std::string(path) + "#" + std::to_string(unknown.field(i).number()),
            "this server does not know the field; it is too old for this client");
    }
  }

  void check_against_core() {
    if (!flaws_.empty()) return;
    if (const char* expected = core::flaw_in(task_.spec)) {
      wrong("", std::string("expected ") + expected);
    }
  }

  void fill_card() {
    service::TaskCard& card = *task_.card;
    card.id = spec_.task_id();
    card.request_id = context_.request_id;
    card.group_name = spec_.group();
    task_.spec.at_once = spec_.array().at_once();
    card.tier = task_.tier.value_or(0);
    card.priority = task_.spec.priority;
    card.gpus = task_.spec.gpus;
    card.share = task_.spec.share;
    card.vram = task_.spec.vram;
    card.spec = serialized();
    card.digest = journal::hash_bytes(
        {reinterpret_cast<const std::byte*>(card.spec.data()), card.spec.size()});
  }

  // The same bytes for the same content, whatever the order of its maps; the tenant is in them.
  std::string serialized() const {
    v1::TaskSpec whole;
    const v1::TaskSpec* spec = &spec_;
    if (spec_.user_id() != context_.tenant) {
      whole = spec_;
      whole.set_user_id(context_.tenant);
      spec = &whole;
    }
    std::string bytes;
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream out(&stream);
    out.SetSerializationDeterministic(true);
    spec->SerializeToCodedStream(&out);
    out.Trim();
    return bytes;
  }

  const v1::TaskSpec& spec_;
  const SpecContext& context_;
  service::NewTask task_;
  std::vector<FieldFlaw> flaws_;
};

// Takes the name of the first difference that is reported, and asks for no further text.
class FirstDifference : public google::protobuf::util::MessageDifferencer::Reporter {
 public:
  using Message = google::protobuf::Message;
  using Path = std::vector<google::protobuf::util::MessageDifferencer::SpecificField>;

  void ReportAdded(const Message&, const Message&, const Path& path) override { note(path); }
  void ReportDeleted(const Message&, const Message&, const Path& path) override { note(path); }
  void ReportModified(const Message&, const Message&, const Path& path) override { note(path); }

  const std::string& field() const { return field_; }

 private:
  void note(const Path& path) {
    if (!field_.empty()) return;
    for (const auto& part : path) {
      if (part.field == nullptr) continue;
      if (!field_.empty()) field_ += ".";
      field_ += part.field->name();
      if (part.field->is_map()) break;
    }
  }
  std::string field_;
};

}  // namespace

std::string flaw_in_task_id(std::string_view id) {
  std::string flaw = flaw_in_name(id);
  if (!flaw.empty()) return flaw;
  if (service::numbered_id(id)) return "ids of the form t-NUMBER are given by the server";
  if (id.starts_with(kSignalPrefix)) return "must not begin with \"signal:\"";
  return "";
}

std::variant<service::NewTask, std::vector<FieldFlaw>> read_task_spec(const v1::TaskSpec& spec,
                                                                      const SpecContext& context) {
  return SpecReader(spec, context).read();
}

std::string first_difference(const v1::TaskSpec& a, const v1::TaskSpec& b) {
  google::protobuf::util::MessageDifferencer differencer;
  FirstDifference reporter;
  differencer.ReportDifferencesTo(&reporter);
  differencer.Compare(a, b);
  return reporter.field();
}

}  // namespace berth::api
