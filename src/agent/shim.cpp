// The shim's life: claim, run, watch, write down.
#include "agent/shim.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <optional>
#include <variant>

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
constexpr int kWriteTries = 30;  // one each second

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

ExitRecord without_a_run(const NotSpawned& why) {
  ExitRecord record{.cause = why.cause};
  if (why.cause == EndCause::not_executed) record.status = 127;
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

  std::optional<NotSpawned> start();
  void wait_for_something();
  void take_signals();
  void reap();
  void bury_the_command();
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
  bool command_ended_ = false;
  std::optional<int> status_;  // of the command, as waitpid gives it; once it is buried
  bool children_left_ = true;
  Time began_ = Loop::now();
  Time act_at_ = Time::never();  // when the stage ends, or killing is repeated
};

ExitRecord TaskRun::run() {
  if (const std::optional<NotSpawned> failed = start()) return without_a_run(*failed);
  if (intent_.run_limit.ns > 0) act_at_ = began_ + intent_.run_limit;
  while (children_left_) {
    wait_for_something();
    out_.pump();
    err_.pump();
    take_signals();
    follow_the_clock();
    // What the command left behind.
    if (command_ended_ && children_left_ && stage_ == Stage::running) kill_all();
  }
  out_.drain();
  err_.drain();
  return record();
}

std::optional<NotSpawned> TaskRun::start() {
  const Fd out = out_.take_write_end();
  const Fd err = err_.take_write_end();
  const std::variant<pid_t, NotSpawned> command = spawn_command(intent_, out.get(), err.get());
  if (const auto* failed = std::get_if<NotSpawned>(&command)) return *failed;
  command_ = std::get<pid_t>(command);
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
    if (info.ssi_signo == SIGTERM && !command_ended_) ask_to_stop(EndCause::stopped);
  }
}

// The command is buried last: until then nobody else can get its pid, by which its group is killed.
void TaskRun::reap() {
  siginfo_t ended{};
  if (!command_ended_ &&
      ::waitid(P_PID, static_cast<id_t>(command_), &ended, WEXITED | WNOHANG | WNOWAIT) == 0) {
    command_ended_ = ended.si_pid == command_;
  }
  bool others_left = false;
  for (const pid_t child : own_children()) {
    if (child != command_ && ::waitpid(child, nullptr, WNOHANG) == 0) others_left = true;
  }
  if (command_ended_ && !others_left) bury_the_command();
}

// The list of children can lack one that came while it was made, so the kernel has the last word.
void TaskRun::bury_the_command() {
  if (int status = 0; !status_ && ::waitpid(command_, &status, 0) == command_) status_ = status;
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
  if (!status_) ::kill(-command_, SIGKILL);
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
  for (const Result<OutputPump>* pump : {&out, &err}) {
    if (!*pump) return without_a_run({EndCause::not_begun, pump->error().message});
  }
  return TaskRun(intent, oom_kills, std::move(signals), std::move(*out), std::move(*err)).run();
}

// The exit has had its room since before the claim. Where the file system copies on write, it needs
// new room all the same: then this waits a while for some, and the agent with it. If none comes,
// the agent finds no exit and says so.
void write_down(const Fd& record, const TaskFiles& files, const ExitRecord& exit) {
  for (int tries = 0; tries < kWriteTries; ++tries) {
    if (write_exit(record, files, exit).ok()) return;
    ::sleep(1);
  }
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
  write_down(*record, intent.files, run_task(intent, oom_kills, std::move(signals)));
}

}  // namespace berth::agent
