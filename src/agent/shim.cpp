// The shim's life: claim, run, watch, write down.
#include "agent/shim.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <optional>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/exec_task.h"
#include "agent/files.h"
#include "agent/loop.h"
#include "agent/output_pump.h"
#include "agent/process_info.h"
#include "agent/task_folder.h"

namespace berth::agent {
namespace {

constexpr Duration kKillAgain = milliseconds(50);

int say(const Error& error) {
  std::fprintf(stderr, "berth shim: %s\n", error.message.c_str());
  return 1;
}

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

// One command and all that it starts. Every process that loses its parent becomes the shim's child,
// so the task has ended when the shim has no children left.
class TaskRun {
 public:
  TaskRun(const Intent& intent, const std::filesystem::path& folder, Fd signals, OutputPump out,
          OutputPump err)
      : intent_(intent),
        folder_(folder),
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
  const std::filesystem::path& folder_;
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
  std::int64_t oom_kills_before_ = kernel_oom_kills();
};

ExitRecord TaskRun::run() {
  if (const std::optional<Error> failed = start()) {
    ExitRecord record{.cause = EndCause::not_executed, .status = 127};
    record.message = failed->message;
    record.ended_unix_ms = unix_ms();
    return record;
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

// The sentence of a failing child comes through a pipe that a successful exec closes.
std::optional<Error> TaskRun::start() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return file_error("make a pipe in", folder_, errno);
  const Fd told(ends[0]);
  Fd tell(ends[1]);
  Fd out = out_.take_write_end();
  Fd err = err_.take_write_end();
  command_ = ::fork();
  if (command_ < 0) return Error{std::string("Could not fork: ") + std::strerror(errno) + "."};
  if (command_ == 0) {
    const Error why = exec_task(intent_, folder_, out.get(), err.get());
    [[maybe_unused]] const Status said = write_all(tell.get(), why.message, "a pipe");
    ::_exit(127);
  }
  ::setpgid(command_, command_);  // whichever of the two comes first
  tell.reset();
  std::string message;
  std::array<char, 4096> buffer;
  while (true) {
    const ssize_t got = ::read(told.get(), buffer.data(), buffer.size());
    if (got > 0) message.append(buffer.data(), static_cast<std::size_t>(got));
    if (got == 0 || (got < 0 && errno != EINTR)) break;
  }
  if (message.empty()) return std::nullopt;
  ::waitpid(command_, nullptr, 0);
  return Error{message};
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

}  // namespace

int run_shim(const std::filesystem::path& folder) {
  ::syscall(SYS_close_range, 3U, ~0U, 0U);
  ::setsid();
  Fd signals = catch_signals();
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);

  // Everything that needs room on the disk, before the claim: until then the task can still be
  // given back unstarted.
  if (const Status reserved = reserve_exit(folder); !reserved) return say(reserved.error());
  // Not the folders above it: if they are gone, the task was taken back.
  if (::mkdir((folder / "work").c_str(), 0700) != 0 && errno != EEXIST) {
    return say(file_error("create", folder / "work", errno));
  }
  const Result<Intent> intent = claim_intent(folder);
  if (!intent) return say(intent.error());

  Result<OutputPump> out = OutputPump::open(folder / "out", intent->output_cap);
  Result<OutputPump> err = OutputPump::open(folder / "err", intent->output_cap);
  ExitRecord record;
  if (out.ok() && err.ok()) {
    record = TaskRun(*intent, folder, std::move(signals), std::move(*out), std::move(*err)).run();
  } else {
    record.cause = EndCause::not_executed;
    record.status = 127;
    record.message = (out.ok() ? err : out).error().message;
  }
  const Status written = write_exit(folder, record);
  return written.ok() ? 0 : say(written.error());
}

}  // namespace berth::agent
