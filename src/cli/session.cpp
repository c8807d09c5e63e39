// See session.h.
#include "cli/session.h"

#include <algorithm>
#include <array>

#include <google/protobuf/util/json_util.h>

#include "cli/field_names.h"
#include "cli/text.h"
#include "cli/values.h"
#include "cli/yaml.h"
#include "config/diagnostics.h"

namespace berth::cli {
namespace {

constexpr std::array<std::string_view, 5> kFormats = {"table", "wide", "json", "yaml", "name"};

std::optional<Format> read_format(Values& values) {
  const std::string given = values.has("-o") ? values.text("-o") : "table";
  const auto found = std::ranges::find(kFormats, given);
  if (found != kFormats.end()) return static_cast<Format>(found - kFormats.begin());
  const std::vector<std::string> names(kFormats.begin(), kFormats.end());
  values.note("-o: no format is named " + config::quoted(given) + config::suggestion(given, names));
  return std::nullopt;
}

// The flag, or else the variable, or else the default.
std::string setting(const Call& call, std::string_view flag, const std::string& variable,
                    const std::string& otherwise = {}) {
  if (const auto given = call.args.value(flag)) return *given;
  const std::string from_environment = call.console.environment(variable);
  return from_environment.empty() ? otherwise : from_environment;
}

// What stands on several lines, as the errors of a configuration, stays so, indented.
std::string harmless_lines(std::string_view text) {
  while (text.ends_with('\n'))
    text.remove_suffix(1);
  std::string result;
  for (std::size_t end = 0; end != text.npos; text.remove_prefix(end == text.npos ? 0 : end + 1)) {
    end = text.find('\n');
    result += (result.empty() ? "" : "\n  ") + harmless(text.substr(0, end));
  }
  return result;
}

// What the server said, in the words of the shell: its sentence, and what is wrong with each flag.
std::string sentences_of(const client::Failure& failure, const FieldNames& names) {
  std::string lines;
  for (const client::FieldProblem& problem : failure.fields) {
    lines +=
        "\n  " + harmless(names.of(problem.field) + ": " + names.in_sentence(problem.description));
  }
  const auto& fields = failure.fields;
  const bool only_repeats = !fields.empty() && failure.message.starts_with(fields[0].field + ": " +
                                                                           fields[0].description);
  if (!only_repeats) return harmless_lines(names.in_sentence(failure.message)) + lines;
  if (fields.size() == 1) return lines.substr(3);
  return std::to_string(fields.size()) + " things are wrong" + lines;
}

// Puts the one list of the answer into this order.
void put_in_order(google::protobuf::Message& answer, const std::vector<std::size_t>& order) {
  const google::protobuf::Reflection& reflection = *answer.GetReflection();
  for (int i = 0; i < answer.GetDescriptor()->field_count(); ++i) {
    const auto* field = answer.GetDescriptor()->field(i);
    if (!field->is_repeated() || field->message_type() == nullptr) continue;
    ASSERT(order.size() == static_cast<std::size_t>(reflection.FieldSize(answer, field)));
    std::vector<google::protobuf::Message*> rows;
    for (std::size_t left = order.size(); left > 0; --left)
      rows.push_back(reflection.ReleaseLast(&answer, field));
    std::ranges::reverse(rows);
    for (const std::size_t place : order)
      reflection.AddAllocatedMessage(&answer, field, rows[place]);
    return;
  }
}

}  // namespace

std::optional<Session> Session::open(const Call& call, int& code) {
  Values values(call);
  const std::optional<Format> format = read_format(values);
  const std::optional<std::int64_t> timeout = values.duration_ms("--timeout");
  client::Endpoint endpoint;
  endpoint.address = setting(call, "--server", "BERTH_SERVER", endpoint.address);
  endpoint.token = setting(call, "--token", "BERTH_TOKEN");
  endpoint.ca_file = setting(call, "--ca", "BERTH_CA");
  endpoint.cert_file = setting(call, "--cert", "BERTH_CERT");
  endpoint.key_file = setting(call, "--key", "BERTH_KEY");
  if (!values.ok()) {
    code = values.refuse();
    return std::nullopt;
  }
  client::Limits limits;
  if (timeout) limits.deadline = std::chrono::milliseconds(*timeout);
  if (call.console.catch_interrupts) {
    const std::atomic<bool>& flag = call.console.catch_interrupts();
    limits.stop = [&flag] { return flag.load(); };
  }
  const client::Stop stop = limits.stop;
  Result<client::Client> client = client::Client::connect(endpoint, std::move(limits));
  if (!client) {
    code =
        complain(call.console, client.error().message + "; see --ca, --cert and --key", kBadInput);
    return std::nullopt;
  }
  Session session(call, std::move(*client));
  session.stop_ = stop;
  session.approach_ = {endpoint.address, !endpoint.ca_file.empty(), !endpoint.cert_file.empty()};
  session.format_ = *format;
  if (timeout) session.timeout_ = std::chrono::milliseconds(*timeout);
  const Console& console = call.console;
  session.look_.wide = *format == Format::wide;
  session.look_.headers = !call.args.has("--no-headers");
  session.look_.colours = console.out_is_terminal && console.environment("NO_COLOR").empty() &&
                          console.environment("TERM") != "dumb";
  return session;
}

client::Clock::time_point Session::patience() const {
  return timeout_ ? client::Clock::now() + *timeout_ : client::Clock::time_point::max();
}

int Session::show(google::protobuf::Message& answer, Listing& listing) const {
  if (const auto keys = sort_keys(args().values("--sort")); !keys.empty()) {
    const std::string error = listing.sort(keys);
    if (!error.empty()) return bad_usage(call(), error);
    put_in_order(answer, listing.order());
  }
  if (as_document()) {
    print_document(answer);
  } else if (format_ == Format::name) {
    listing.print_names(console().out);
  } else {
    listing.print(console().out, look_);
  }
  return kOk;
}

void Session::print_document(const google::protobuf::Message& message, bool one_of_several) const {
  google::protobuf::util::JsonPrintOptions options;
  const bool one_line = one_of_several && format_ == Format::json;
  options.add_whitespace = !one_line;
  options.always_print_primitive_fields = true;
  options.preserve_proto_field_names = true;
  std::string text;
  const auto status = google::protobuf::util::MessageToJsonString(message, &text, options);
  ASSERT(status.ok());
  if (format_ == Format::yaml)
    console().out << (one_of_several ? "---\n" : "") << yaml_of_json(text);
  else
    console().out << text << (one_line ? "\n" : "");
}

std::string Session::nearest(const client::Failure& failure) {
  const auto queue = args().value("--queue");
  if (failure.code != grpc::StatusCode::NOT_FOUND || !queue || failure.reason != "unknown_queue")
    return {};
  for (const char* said : {"; did you mean ", "; known: "})
    if (failure.message.find(said) != std::string::npos) return {};
  const auto known = client_.queues({});
  if (!known) return {};
  std::vector<std::string> names;
  for (const v1::QueueStatus& status : known->queues())
    names.push_back(status.name());
  return config::suggestion(*queue, names);
}

int Session::fail(const std::string& what, const client::Failure& failure) {
  if (failure.code == grpc::StatusCode::CANCELLED && interrupted()) {
    say("berth: interrupted");
    return kDetached;
  }
  if (const auto not_there = unreachable(failure, approach_)) {
    return complain(console(), "cannot " + what + ": " + not_there->why + "\n" + not_there->advice,
                    kUnavailable);
  }
  std::string text = "cannot " + what + ": " + sentences_of(failure, FieldNames(call().command)) +
                     nearest(failure);
  const std::string advice = advice_for(failure, approach_.server);
  if (!advice.empty()) text += "\n" + advice;
  return complain(console(), text, exit_code_of(failure.code));
}

int exit_code_of(grpc::StatusCode code) {
  switch (code) {
    case grpc::StatusCode::OK:
      return kOk;
    case grpc::StatusCode::INVALID_ARGUMENT:
      return kBadInput;
    case grpc::StatusCode::NOT_FOUND:
      return kNotFound;
    case grpc::StatusCode::PERMISSION_DENIED:
    case grpc::StatusCode::UNAUTHENTICATED:
      return kDenied;
    case grpc::StatusCode::UNAVAILABLE:
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
      return kUnavailable;
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      return kTimedOut;
    case grpc::StatusCode::ALREADY_EXISTS:
    case grpc::StatusCode::FAILED_PRECONDITION:
    case grpc::StatusCode::ABORTED:
      return kConflict;
    default:
      return kFailed;
  }
}

std::string advice_for(const client::Failure& failure, const std::string& server) {
  if (const auto tenant = failure.metadata.find("tenant"); tenant != failure.metadata.end()) {
    if (failure.reason == "unknown_task") return "Add --tenant " + shell_word(tenant->second) + ".";
  }
  if (failure.retry_after) return "Try again in " + time_text(failure.retry_after->count()) + ".";
  switch (failure.code) {
    case grpc::StatusCode::UNAVAILABLE:
      return "Try again in a moment.";
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      return "Give it longer with --timeout.";
    case grpc::StatusCode::UNAUTHENTICATED:
      return "Give a token with --token or BERTH_TOKEN; an administrator makes one with "
             "'berth token create'.";
    case grpc::StatusCode::UNIMPLEMENTED:
      return "The server at " + server +
             " may be older than this berth: compare 'berth info' "
             "with 'berth --version'.";
    default:
      return {};
  }
}

}  // namespace berth::cli
