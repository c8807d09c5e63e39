// Session: a command's way to a server: the flags every such command has, the client, and how
// answers and failures are shown.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <google/protobuf/message.h>

#include "cli/commands.h"
#include "cli/listing.h"
#include "cli/unreachable.h"
#include "client/client.h"

namespace berth::cli {

enum class Format { table, wide, json, yaml, name };

class Session {
 public:
  // None, and `code` is set, if the flags are wrong or no client can be made.
  static std::optional<Session> open(const Call& call, int& code);

  client::Client& client() { return client_; }
  Console& console() const { return call_->console; }
  const Arguments& args() const { return call_->args; }
  const Call& call() const { return *call_; }
  Format format() const { return format_; }
  Look look() const { return look_; }
  std::int64_t now_unix_ms() const { return console().now_unix_ms(); }
  bool interrupted() const { return stop_ && stop_(); }

  // When what the command waits for has taken too long: --timeout from now, or never.
  client::Clock::time_point patience() const;

  // Whether the answer is printed as a document, for programs.
  bool as_document() const { return format_ == Format::json || format_ == Format::yaml; }
  // Whether it is printed for people.
  bool as_table() const { return format_ == Format::table || format_ == Format::wide; }

  // Prints the answer in the format and the order asked for. The listing's rows are the answer's
  // one list. Returns the exit code: kBadInput where --sort names no column.
  int show(google::protobuf::Message& answer, Listing& listing) const;
  // As JSON or YAML. One of several: a line of JSON, or a document of YAML.
  void print_document(const google::protobuf::Message& message, bool one_of_several = false) const;
  // A remark on stderr, for people.
  void say(const std::string& text) const { console().err << text << "\n"; }

  // "berth: error: cannot WHAT: …" with the wrong flags and what to do; returns the exit code.
  int fail(const std::string& what, const client::Failure& failure);

 private:
  Session(const Call& call, client::Client client) : call_(&call), client_(std::move(client)) {}
  // `; did you mean "llm"?` where the failure is a name that is not known.
  std::string nearest(const client::Failure& failure);

  const Call* call_;
  client::Client client_;
  client::Stop stop_;
  Approach approach_;
  Format format_ = Format::table;
  Look look_;
  std::optional<std::chrono::milliseconds> timeout_;
};

// The exit code that stands for a failed call.
int exit_code_of(grpc::StatusCode code);

// What to do about a failure; "": nothing is known to help.
std::string advice_for(const client::Failure& failure, const std::string& server);

}  // namespace berth::cli
