// See reason_text.h.
#include "service/reason_text.h"

#include <array>
#include <cstdio>

#include "config/quantity.h"
#include "core/mig/profiles.h"

namespace berth::service {
namespace {

std::string in_quotes(std::string_view name) { return "\"" + std::string(name) + "\""; }

std::string subject_name(std::string_view noun, std::uint64_t subject, const Board& board) {
  const Names& names = board.names();
  const auto in = [&](const auto& list) {
    return subject < list.size() ? list[subject].name : std::to_string(subject);
  };
  if (noun == "tenant") return in(names.tenants());
  if (noun == "queue") return in(names.queues());
  if (noun == "gpu") return in(names.gpus());
  if (noun == "signal") return std::string(names.signal_name(SignalId{subject}));
  if (noun == "task") {
    const TaskLine* line = board.tasks().find(TaskNo{subject});
    return line == nullptr ? "t-" + std::to_string(subject) : id_of(*line->card);
  }
  if (noun == "mig_profile" && subject < core::mig::kProfiles) {
    return std::string(core::mig::name_of(static_cast<core::mig::ProfileId>(subject)));
  }
  return std::to_string(subject);
}

// Whether the reason speaks of a task that its reader must not know. One that has ended could be
// anyone's, but for those that a task itself depends on.
bool is_of_others(const core::Reason& reason, const Board& board, TenantId reader) {
  using enum core::ReasonCode;
  if (!reader || core::info_of(reason.code).subject != "task") return false;
  if (const TaskLine* line = board.tasks().find(TaskNo{reason.subject})) {
    return line->card->tenant != reader;
  }
  return reason.code == behind_in_order || reason.code == behind_reservation ||
         reason.code == preempted;
}

std::string decimal(double value, const char* unit) {
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), "%.3g %s", value, unit);
  return text.data();
}

std::string amount(std::int64_t value, std::string_view unit) {
  if (unit == "milli-GPUs") {
    return config::exact_decimal(value, 1000) + (value == 1000 ? " GPU" : " GPUs");
  }
  if (unit == "milli-CPUs") {
    return config::exact_decimal(value, 1000) + (value == 1000 ? " CPU" : " CPUs");
  }
  if (unit == "ns") return time_words(Duration{value});
  if (value == 1 && unit == "losses") unit = "loss";
  if (value == 1 && unit.ends_with('s') && unit != "loss") unit.remove_suffix(1);
  return std::to_string(value) + " " + std::string(unit);
}

// `need` counts tasks that come first.
bool counts_others(core::ReasonCode code) {
  return code == core::ReasonCode::behind_in_flow || code == core::ReasonCode::behind_in_order;
}

// `have` is the most that may be, not what there is.
bool have_is_limit(core::ReasonCode code) {
  using enum core::ReasonCode;
  for (const core::ReasonCode limit :
       {tenant_queue_full, queue_full, cluster_queue_full, tokens_over_bucket, daily_tokens_spent,
        gpus_over_max, gpus_over_task_max, would_start_late, queue_at_max, tenant_at_max,
        infrastructure_lost, gang_with_model, group_at_limit, waited_too_long, attempts_spent,
        poison_held}) {
    if (code == limit) return true;
  }
  return false;
}

// What the numbers of a reason say, to stand behind its sentence; empty: nothing.
std::string numbers_of(const core::Reason& reason, std::string_view unit) {
  using enum core::ReasonCode;
  if (unit.empty()) return "";
  const std::string need = amount(reason.need, unit);
  const std::string have = amount(reason.have, unit);
  switch (reason.code) {
    case waits_for_time:
      return ": in " + amount(reason.need - reason.have, unit);
    case mig_start_short:
      return ": " + std::to_string(reason.have) + " of " + need;
    case load_not_worth:
      return ": it costs " + need + " and saves " + have;
    case models_in_the_way:
      return reason.need > 0 ? ": " + need + " of work" : "";
    case load_failed:
      return ": " + need + " failed";
    default:
      break;
  }
  if (counts_others(reason.code)) return reason.need > 0 ? ": " + need : "";
  if (reason.need == reason.have) return "";
  if (have_is_limit(reason.code)) return ": " + need + ", and the limit is " + have;
  return ": needs " + need + ", has " + have;
}

}  // namespace

std::string time_words(Duration time) {
  const double seconds = static_cast<double>(time.ns) / 1e9;
  if (seconds < 1.0) return decimal(seconds * 1000.0, "ms");
  if (seconds < 120.0) return decimal(seconds, "s");
  const auto whole = static_cast<std::int64_t>(seconds);
  if (whole < 7200) return std::to_string(whole / 60) + " min " + std::to_string(whole % 60) + " s";
  return std::to_string(whole / 3600) + " h " + std::to_string(whole / 60 % 60) + " min";
}

ReasonWords words_of(const core::Reason& reason, const Board& board, const ReasonFor& whom) {
  const core::ReasonInfo& info = core::info_of(reason.code);
  ReasonWords words;
  if (!reason) return words;
  words.code = info.name;
  words.unit = info.unit;
  words.never = info.never;
  words.message = info.sentence;
  if (reason.code == core::ReasonCode::mig_profile_absent) {
    words.message +=
        ": there are " + core::mig::names_of_geometries(static_cast<std::uint64_t>(reason.have));
  } else {
    words.message += numbers_of(reason, info.unit);
  }
  const bool is_own = whom.own && info.subject == "task" && reason.subject == whom.own.value;
  if (info.subject.empty() || reason.subject == core::Reason::kNoSubject || is_own) return words;
  if (is_of_others(reason, board, whom.tenant)) {
    words.message += " (other work)";
  } else {
    words.subject = subject_name(info.subject, reason.subject, board);
    words.message += " (" + std::string(info.subject) + " " + in_quotes(words.subject) + ")";
  }
  return words;
}

}  // namespace berth::service
