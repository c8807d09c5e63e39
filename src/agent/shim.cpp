// The shim's life: claim, run, watch, write down.
#include "agent/shim.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <optional>

#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/loop.h"
#include "agent/output_pump.h"
#include "agent/process_info.h"
#include "agent/spawn_command.h"

namespace berth::agent {
namespace {

constexpr Duration kKillAgain = milliseconds(50);

// Signals become readable; from here on SIGTERM cannot be lost.
Fd catch_signals() {
  sigset_t caught;
  ::sigemptyset(&caught);
  for (const int signal : {SIGTERM, SIGCHLD, SIGINT, SIGHUP}) {
    ::sigaddset(&caught, signal);
  }
  ::sigprocmask(SIG_BLOCK, &caught, nullptr);
  ::signal(SIGCHLD, SIG_DFL);  // if it came ignored, children would vanish unseen
  ::signal(SIGPIPE, SIG_IGN);
  return Fd(::signalfd(-1, &caught, SFD_CLOEXEC | SFD_NONBLOCK));
}

std::int64_t unix_ms() {
  timespec clock{};
  ::clock_gettime(CLOCK_REALTIME, &clock);
  return clock.tv_sec * 1000 + clock.tv_nsec / 1'000'000;
}

bool tells_of_gpu_memory(std::string_view errors) {
  for (const std::string_view text :
       {"CUDA out of memory", "CUDA_ERROR_OUT_OF_MEMORY", "OutOfMemoryError"}) {
    if (errors.find(text) != std::string_view::npos) return true;
  }
  return false;
}

ExitRecord not_executed(const Error& why) {
  ExitRecord record{.cause = EndCause::not_executed, .status = 127};
  record.message = why.message;
  record.ended_unix_ms = unix_ms();
  return record;
}

// One command and all that it starts. Every process that loses its parent becomes the shim's child,
// so the task has ended when the shim has no children left.
class TaskRun {
 public:
  TaskRun(const Intent& intent, std::int64_t oom_kills, Fd signals, OutputPump out, OutputPump err)
      : intent_(intent),
        oom_kills_before_(oom_kills),
        signals_(std::move(signals)),
        out_(std::move(out)),
        err_(std::move(err)) {}

  ExitRecord run();

 private:
  enum class Stage : std::uint8_t { running, stopping, killing };

  std::optional<Error> start();
  void wait_for_something();
  void take_signals();
  void reap();
  void ask_to_stop(EndCause cause);
  void kill_all();
  void follow_the_clock();
  ExitRecord record() const;

  const Intent& intent_;
  const std::int64_t oom_kills_before_;
  Fd signals_;
  OutputPump out_;
  OutputPump err_;
  Stage stage_ = Stage::running;
  EndCause cause_ = EndCause::ended;
  pid_t command_ = -1;
  std::optional<int> status_;  // of the command, as waitpid gives it
  bool children_left_ = true;
  Time began_ = Loop::now();
  Time act_at_ = Time::never();  // when the stage ends, or killing is repeated
};

ExitRecord TaskRun::run() {
  if (const std::optional<Error> failed = start()) {
    return not_executed(*failed);
  }
  if (intent_.run_limit.ns > 0) act_at_ = began_ + intent_.run_limit;
  while (children_left_) {
    wait_for_something();
    out_.pump();
    err_.pump();
    take_signals();
    follow_the_clock();
    if (status_ && stage_ == Stage::running) kill_all();  // what the command left behind
  }
  out_.drain();
  err_.drain();
  return record();
}

std::optional<Error> TaskRun::start() {
  const Fd out = out_.take_write_end();
  const Fd err = err_.take_write_end();
  const Result<pid_t> command = spawn_command(intent_, out.get(), err.get());
  if (!command) return command.error();
  command_ = *command;
  return std::nullopt;
}

void TaskRun::wait_for_something() {
  int timeout_ms = -1;
  if (act_at_ != Time::never()) {
    const std::int64_t left_ms = (act_at_ - Loop::now()).ns / 1'000'000 + 1;
    timeout_ms = static_cast<int>(std::clamp<std::int64_t>(left_ms, 0, 3'600'000));
  }
  std::array<pollfd, 3> entries{
      {{signals_.get(), POLLIN, 0}, {out_.read_end(), POLLIN, 0}, {err_.read_end(), POLLIN, 0}}};
  ::poll(entries.data(), entries.size(), timeout_ms);
}

void TaskRun::take_signals() {
  signalfd_siginfo info{};
  while (::read(signals_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    if (info.ssi_signo == SIGCHLD) reap();
    if (info.ssi_signo == SIGTERM && !status_) ask_to_stop(EndCause::stopped);
  }
}

void TaskRun::reap() {
  while (true) {
    int status = 0;
    const pid_t pid = ::waitpid(-1, &status, WNOHANG);
    if (pid < 0 && errno == ECHILD) children_left_ = false;
    if (pid <= 0) return;
    if (pid == command_) status_ = status;
  }
}

void TaskRun::ask_to_stop(EndCause cause) {
  if (stage_ != Stage::running) return;
  stage_ = Stage::stopping;
  cause_ = cause;
  act_at_ = Loop::now() + intent_.stop_grace;
  ::kill(-command_, intent_.stop_signal);
  ::kill(-command_, SIGCONT);  // one that is suspended hears it too
}

void TaskRun::follow_the_clock() {
  if (Loop::now() < act_at_) return;
  if (stage_ == Stage::running) {
    ask_to_stop(EndCause::timed_out);
  } else {
    kill_all();
  }
}

// Repeated until nobody is left: a child that dies hands us its own children.
void TaskRun::kill_all() {
  stage_ = Stage::killing;
  act_at_ = Loop::now() + kKillAgain;
  ::kill(-command_, SIGKILL);
  for (const pid_t child : own_children()) {
    ::kill(child, SIGKILL);
  }
}

ExitRecord TaskRun::record() const {
  ExitRecord record{.cause = cause_};
  const int status = status_.value_or(0);
  if (WIFSIGNALED(status)) record.term_signal = WTERMSIG(status);
  if (WIFEXITED(status)) record.status = WEXITSTATUS(status);
  if (cause_ == EndCause::ended && status != 0) {
    record.out_of_memory =
        tells_of_gpu_memory(err_.tail()) ||
        (record.term_signal == SIGKILL && kernel_oom_kills() > oom_kills_before_);
  }
  record.ran_ms = (Loop::now() - began_).ns / 1'000'000;
  record.ended_unix_ms = unix_ms();
  record.out_cut = out_.cut();
  record.err_cut = err_.cut();
  return record;
}

ExitRecord run_task(const Intent& intent, std::int64_t oom_kills, Fd signals) {
  Result<OutputPump> out = OutputPump::open(intent.files.out(), intent.output_cap);
  Result<OutputPump> err = OutputPump::open(intent.files.err(), intent.output_cap);
  if (!out) return not_executed(out.error());
  if (!err) return not_executed(err.error());
  return TaskRun(intent, oom_kills, std::move(signals), std::move(*out), std::move(*err)).run();
}

}  // namespace

void run_shim(const Intent& intent, std::int64_t oom_kills) {
  ::prctl(PR_SET_NAME, "berth-shim");
  ::syscall(SYS_close_range, 3U, ~0U, 0U);
  ::setsid();  // a signal to the server's terminal or group does not reach it
  Fd signals = catch_signals();
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  const Result<Fd> record = claim_intent(intent.files);
  if (!record) return;  // taken back
  // It has had its room since before the claim.
  const ExitRecord exit = run_task(intent, oom_kills, std::move(signals));
  [[maybe_unused]] const Status written = write_exit(*record, intent.files, exit);
}

}  // namespace berth::agent
