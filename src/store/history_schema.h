// The history's tables and views, in the words of SQL. The views are what users query; they are
// documented in docs/guide/history.md. The tables may change with the format.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace berth::store {

inline constexpr std::int64_t kHistoryFormat = 1;

struct SchemaItem {
  std::string_view name;
  std::string_view sql;
};

// Finds a task by the id that its tenant gave it. Those that are named by their number are not in
// it: they are found by their key. A history that an older version made gets it when the server has
// started.
inline constexpr std::string_view kHasOwnId = "task_id <> 't-' || task_no";
inline constexpr SchemaItem kEndedById{
    "ended_by_id",
    "CREATE INDEX ended_by_id ON ended(task_id, tenant) WHERE task_id <> 't-' || task_no"};

inline constexpr std::array<SchemaItem, 9> kHistorySchema{{
    // Format, how far it is projected, and until when bodies were pruned.
    {"meta", R"(CREATE TABLE meta (
  key TEXT PRIMARY KEY,
  value INTEGER NOT NULL,
  check_sum INTEGER NOT NULL
) STRICT, WITHOUT ROWID)"},

    // One narrow row for each ended task; history_columns.h lists the same columns.
    {"ended", R"(CREATE TABLE ended (
  task_no INTEGER PRIMARY KEY,
  task_id TEXT NOT NULL,
  tenant TEXT NOT NULL,
  queue TEXT NOT NULL,
  "group" TEXT NOT NULL,
  state TEXT NOT NULL,
  reason_code TEXT NOT NULL,
  reason_need INTEGER NOT NULL,
  reason_have INTEGER NOT NULL,
  reason_unit TEXT NOT NULL,
  reason_subject TEXT NOT NULL,
  reason_message TEXT NOT NULL,
  tier INTEGER NOT NULL,
  priority INTEGER NOT NULL,
  vram_mb INTEGER NOT NULL,
  gpus INTEGER NOT NULL,
  share INTEGER NOT NULL,
  submitted_ns INTEGER NOT NULL,
  eligible_ns INTEGER NOT NULL,
  started_ns INTEGER NOT NULL,
  ended_ns INTEGER NOT NULL,
  attempts TEXT NOT NULL,
  charge_us INTEGER NOT NULL,
  wait_ns INTEGER NOT NULL,
  labels TEXT NOT NULL,
  result_completed INTEGER NOT NULL,
  result_failure TEXT NOT NULL,
  result_exit_status INTEGER NOT NULL,
  result_term_signal INTEGER NOT NULL,
  result_message TEXT NOT NULL,
  result_simulated INTEGER NOT NULL,
  expires_ns INTEGER NOT NULL,
  check_sum INTEGER NOT NULL
) STRICT)"},

    // Ends come nearly in the order of time, so this index grows at its end and stays cheap.
    {"ended_by_time", "CREATE INDEX ended_by_time ON ended(ended_ns)"},

    // The large and short-lived part, apart so that lists do not read it and pruning deletes rows.
    {"bodies", R"(CREATE TABLE bodies (
  task_no INTEGER PRIMARY KEY,
  expires_ns INTEGER NOT NULL,
  spec BLOB NOT NULL,
  result BLOB NOT NULL,
  check_sum INTEGER NOT NULL
) STRICT)"},

    {"bodies_by_expiry",
     "CREATE INDEX bodies_by_expiry ON bodies(expires_ns) WHERE expires_ns > 0"},

    {"tasks", R"(CREATE VIEW tasks AS SELECT
  task_no, task_id, tenant, queue, "group", state,
  reason_code AS reason, reason_message, reason_need, reason_have, reason_unit, reason_subject,
  tier, priority, vram_mb, gpus, share,
  strftime('%Y-%m-%dT%H:%M:%fZ', submitted_ns / 1000000000.0, 'unixepoch') AS submitted_at,
  strftime('%Y-%m-%dT%H:%M:%fZ', nullif(started_ns, 0) / 1000000000.0, 'unixepoch') AS started_at,
  strftime('%Y-%m-%dT%H:%M:%fZ', ended_ns / 1000000000.0, 'unixepoch') AS ended_at,
  submitted_ns, eligible_ns, started_ns, ended_ns, wait_ns,
  CASE WHEN started_ns > 0 THEN ended_ns - started_ns END AS run_ns,
  charge_us / 1000 AS gpu_ms,
  json_array_length(attempts) AS attempts,
  labels, result_exit_status AS exit_status, result_term_signal AS term_signal,
  result_failure AS failure, result_message AS message, result_simulated AS simulated,
  expires_ns
FROM ended)"},

    {"attempts", R"(CREATE VIEW attempts AS SELECT
  e.task_no, e.task_id, e.tenant, e.queue,
  a.value ->> '$.number' AS number,
  a.value ->> '$.lease' AS lease,
  a.value -> '$.gpus' AS gpus,
  a.value ->> '$.started_ns' AS started_ns,
  a.value ->> '$.ended_ns' AS ended_ns,
  a.value ->> '$.outcome' AS outcome,
  a.value ->> '$.exit_status' AS exit_status,
  (a.value ->> '$.charge_us') / 1000 AS gpu_ms
FROM ended AS e, json_each(e.attempts) AS a)"},

    {"events", R"(CREATE VIEW events AS
SELECT task_no, task_id, tenant, queue, submitted_ns AS at_ns, 'submitted' AS event,
  NULL AS attempt, NULL AS detail FROM ended
UNION ALL
SELECT task_no, task_id, tenant, queue, eligible_ns, 'eligible', NULL, NULL
FROM ended WHERE eligible_ns > 0
UNION ALL
SELECT task_no, task_id, tenant, queue, started_ns, 'started', number, gpus FROM attempts
UNION ALL
SELECT task_no, task_id, tenant, queue, ended_ns, state, NULL, reason_message FROM ended)"},

    {"usage", R"(CREATE VIEW usage AS SELECT
  tenant, queue, date(ended_ns / 1000000000, 'unixepoch') AS day,
  count(*) AS tasks, sum(state = 'completed') AS completed,
  sum(charge_us) / 1000 AS gpu_ms, sum(wait_ns) / 1000000 AS wait_ms
FROM ended GROUP BY tenant, queue, day)"},
}};

}  // namespace berth::store
