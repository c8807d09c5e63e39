// See task_run.h.
#include "agent/task_run.h"

#include <algorithm>
#include <csignal>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include <poll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/loop.h"
#include "agent/output_pump.h"
#include "agent/process_info.h"
#include "agent/spawn_command.h"
#include "agent/wall_clock.h"

namespace berth::agent {
namespace {

constexpr Duration kKillAgain = milliseconds(50);

bool tells_of_gpu_memory(std::string_view errors) {
  for (const std::string_view text :
       {"CUDA out of memory", "CUDA_ERROR_OUT_OF_MEMORY", "OutOfMemoryError"}) {
    if (errors.find(text) != std::string_view::npos) return true;
  }
  return false;
}

ExitRecord without_a_run(const NotSpawned& why) {
  ExitRecord record{.cause = why.cause};
  if (why.cause == EndCause::not_executed) record.status = 127;
  record.message = why.message;
  record.ended_unix_ms = unix_ms();
  record.ended = since_boot();
  return record;
}

struct Process {
  OutputPump out;
  OutputPump err;
  pid_t pid = -1;
  bool ended = false;
  std::optional<int> status = {};  // as waitpid gives it; once it is buried
};

class TaskRun {
 public:
  TaskRun(const Intent& intent, std::int64_t oom_kills, Fd signals)
      : intent_(intent),
        oom_kills_before_(oom_kills),
        signals_(std::move(signals)),
        out_(intent.files.out(), intent.output_cap),
        err_(intent.files.err(), intent.output_cap) {}

  ExitRecord run();

 private:
  enum class Stage : std::uint8_t { running, stopping, killing };

  std::optional<NotSpawned> start();
  std::optional<NotSpawned> start(const RankIntent* rank);
  void wait_for_something();
  void pump();
  void take_signals();
  void reap();
  void look_at(std::size_t process);
  bool is_own(pid_t child) const;
  bool all_ended() const;
  void bury_all();
  void ask_to_stop(EndCause cause);
  void kill_all();
  void follow_the_clock();
  ExitRecord record() const;

  const Intent& intent_;
  const std::int64_t oom_kills_before_;
  Fd signals_;
  TaskGroup group_;
  OutputFile out_;
  OutputFile err_;
  std::vector<Process> processes_;     // in the order of the ranks
  std::optional<std::size_t> failed_;  // the first that did, while nobody was asked to stop
  Stage stage_ = Stage::running;
  EndCause cause_ = EndCause::ended;
  bool children_left_ = true;
  Time began_ = Loop::now();
  Time act_at_ = Time::never();  // when the stage ends, or killing is repeated
};

ExitRecord TaskRun::run() {
  const std::optional<NotSpawned> failed = start();
  if (failed) kill_all();  // all ranks start, or none
  if (!failed && intent_.run_limit.ns > 0) act_at_ = began_ + intent_.run_limit;
  children_left_ = !processes_.empty();
  while (children_left_) {
    wait_for_something();
    pump();
    take_signals();
    follow_the_clock();
    if (stage_ != Stage::running) continue;
    if (all_ended() && children_left_) kill_all();  // what the command left behind
    if (failed_ && children_left_ && !all_ended()) ask_to_stop(EndCause::ended);
  }
  for (Process& process : processes_) {
    process.out.drain();
    process.err.drain();
  }
  return failed ? without_a_run(*failed) : record();
}

std::optional<NotSpawned> TaskRun::start() {
  Result<TaskGroup> group = TaskGroup::make(intent_.group, intent_.limits);
  if (!group) return NotSpawned{EndCause::not_begun, group.error().message};
  group_ = std::move(*group);
  if (intent_.ranks.empty()) return start(nullptr);
  for (const RankIntent& rank : intent_.ranks) {
    if (std::optional<NotSpawned> failed = start(&rank)) return failed;
  }
  return std::nullopt;
}

std::optional<NotSpawned> TaskRun::start(const RankIntent* rank) {
  const std::string tag = rank == nullptr ? "" : "[" + std::to_string(rank->number) + "] ";
  Result<OutputPump> out = OutputPump::open(out_, tag);
  if (!out) return NotSpawned{EndCause::not_begun, out.error().message};
  Result<OutputPump> err = OutputPump::open(err_, tag);
  if (!err) return NotSpawned{EndCause::not_begun, err.error().message};
  if (intent_.user) {
    out->give_to(intent_.user->uid, intent_.user->gid);
    err->give_to(intent_.user->uid, intent_.user->gid);
  }
  const Fd out_end = out->take_write_end();
  const Fd err_end = err->take_write_end();
  std::variant<pid_t, NotSpawned> command =
      spawn_command(intent_, rank, {out_end.get(), err_end.get(), group_.entrance()});
  if (auto* failed = std::get_if<NotSpawned>(&command)) return std::move(*failed);
  processes_.push_back({std::move(*out), std::move(*err), std::get<pid_t>(command)});
  return std::nullopt;
}

void TaskRun::wait_for_something() {
  int timeout_ms = -1;
  if (act_at_ != Time::never()) {
    const std::int64_t left_ms = (act_at_ - Loop::now()).ns / 1'000'000 + 1;
    timeout_ms = static_cast<int>(std::clamp<std::int64_t>(left_ms, 0, 3'600'000));
  }
  std::vector<pollfd> entries{{signals_.get(), POLLIN, 0}};
  for (const Process& process : processes_) {
    entries.push_back({process.out.read_end(), POLLIN, 0});
    entries.push_back({process.err.read_end(), POLLIN, 0});
  }
  ::poll(entries.data(), entries.size(), timeout_ms);
}

void TaskRun::pump() {
  for (Process& process : processes_) {
    process.out.pump();
    process.err.pump();
  }
}

void TaskRun::take_signals() {
  signalfd_siginfo info{};
  while (::read(signals_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    if (info.ssi_signo == SIGCHLD) reap();
    if (info.ssi_signo == SIGTERM && !all_ended()) ask_to_stop(EndCause::stopped);
  }
}

// Our own are buried last: until then nobody else can get their pids, by which their groups are
// killed.
void TaskRun::reap() {
  for (std::size_t i = 0; i < processes_.size(); ++i) {
    if (!processes_[i].ended) look_at(i);
  }
  bool others_left = false;
  for (const pid_t child : own_children()) {
    if (!is_own(child) && ::waitpid(child, nullptr, WNOHANG) == 0) others_left = true;
  }
  if (all_ended() && !others_left) bury_all();
}

void TaskRun::look_at(std::size_t i) {
  Process& process = processes_[i];
  siginfo_t ended{};
  const auto id = static_cast<id_t>(process.pid);
  if (::waitid(P_PID, id, &ended, WEXITED | WNOHANG | WNOWAIT) != 0) return;
  process.ended = ended.si_pid == process.pid;
  const bool is_well = ended.si_code == CLD_EXITED && ended.si_status == 0;
  if (process.ended && !is_well && !failed_ && stage_ == Stage::running) failed_ = i;
}

bool TaskRun::is_own(pid_t child) const {
  return std::ranges::any_of(processes_, [&](const Process& each) { return each.pid == child; });
}

bool TaskRun::all_ended() const { return std::ranges::all_of(processes_, &Process::ended); }

// The list of children can lack one that came while it was made, so the kernel has the last word.
void TaskRun::bury_all() {
  for (Process& process : processes_) {
    int status = 0;
    if (!process.status && ::waitpid(process.pid, &status, 0) == process.pid) {
      process.status = status;
    }
  }
  pid_t other = 0;
  do {
    other = ::waitpid(-1, nullptr, WNOHANG);
  } while (other > 0);
  children_left_ = other == 0;
}

void TaskRun::ask_to_stop(EndCause cause) {
  if (stage_ != Stage::running) return;
  stage_ = Stage::stopping;
  cause_ = cause;
  act_at_ = Loop::now() + intent_.stop_grace;
  for (const Process& process : processes_) {
    if (process.status) continue;  // buried: the number may be somebody else's
    ::kill(-process.pid, intent_.stop_signal);
    ::kill(-process.pid, SIGCONT);  // one that is suspended hears it too
  }
}

void TaskRun::follow_the_clock() {
  if (Loop::now() < act_at_) return;
  if (stage_ == Stage::running) {
    ask_to_stop(intent_.limit_is_deadline ? EndCause::deadline : EndCause::timed_out);
  } else {
    kill_all();
  }
}

// Repeated until nobody is left: a child that dies hands us its own children.
void TaskRun::kill_all() {
  stage_ = Stage::killing;
  act_at_ = Loop::now() + kKillAgain;
  for (const Process& process : processes_) {
    if (!process.status) ::kill(-process.pid, SIGKILL);
  }
  for (const pid_t child : own_children()) {
    ::kill(child, SIGKILL);
  }
  group_.kill_all();
}

ExitRecord TaskRun::record() const {
  const Process& told = processes_[failed_.value_or(0)];
  ExitRecord record{.cause = cause_};
  if (cause_ == EndCause::ended && failed_ && !intent_.ranks.empty()) {
    record.rank = static_cast<int>(intent_.ranks[*failed_].number);
  }
  const int status = told.status.value_or(0);
  if (WIFSIGNALED(status)) record.term_signal = WTERMSIG(status);
  if (WIFEXITED(status)) record.status = WEXITSTATUS(status);
  if (cause_ == EndCause::ended && status != 0) {
    record.out_of_memory =
        tells_of_gpu_memory(told.err.tail()) || group_.ran_out_of_memory() ||
        (record.term_signal == SIGKILL && kernel_oom_kills() > oom_kills_before_);
  }
  record.ran_ms = (Loop::now() - began_).ns / 1'000'000;
  record.ended_unix_ms = unix_ms();
  record.ended = since_boot();
  record.out_cut = out_.cut();
  record.err_cut = err_.cut();
  return record;
}

}  // namespace

ExitRecord run_task(const Intent& intent, std::int64_t oom_kills, Fd signals) {
  return TaskRun(intent, oom_kills, std::move(signals)).run();
}

}  // namespace berth::agent
