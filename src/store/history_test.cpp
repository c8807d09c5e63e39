// The history: rows come back, lists page, views answer, wrong bytes are found.
#include "store/history.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "store/crash_points.h"
#include "store/history_json.h"
#include "store/history_schema.h"
#include "store/sqlite.h"
#include "store/testing/ended_tasks.h"
#include "store/testing/temp_folder.h"

namespace berth::store::history_test {
namespace {

using testing::ended_task;
using testing::ended_tasks;
using testing::kDay;
using testing::kSecond;
using testing::kStart;
using testing::TempFolder;
using testing::without_body;

template <class T>
T good(Result<T> result) {
  EXPECT_TRUE(result.ok()) << result.error().message;
  return std::move(*result);
}

class History : public ::testing::Test {
 protected:
  void open() { writer_ = good(HistoryWriter::open(path_)); }
  void fill(std::uint64_t count) {
    open();
    ASSERT_TRUE(writer_->add(ended_tasks(1, count), count).ok());
    reader_ = good(HistoryReader::open(path_));
  }
  std::string cell(std::string_view sql) {
    const QueryResult result = good(reader_->query(sql));
    if (result.rows.size() != 1 || result.rows[0].empty()) return "no single cell";
    const auto* text = std::get_if<std::string>(&result.rows[0][0]);
    return text != nullptr ? *text : "null or blob";
  }

  TempFolder folder_;
  std::filesystem::path path_ = folder_ / "history.sqlite";
  std::unique_ptr<HistoryWriter> writer_;
  std::unique_ptr<HistoryReader> reader_;
};

TEST_F(History, ATaskComesBackWithEveryField) {
  fill(50);
  for (std::uint64_t no = 1; no <= 50; ++no) {
    EXPECT_EQ(good(reader_->find(no)), ended_task(no));
  }
  EXPECT_FALSE(good(reader_->find(51)));
  EXPECT_FALSE(good(reader_->find(~0ull)));
  EXPECT_TRUE(check_history(path_).empty());
}

TEST_F(History, TheNewestWithAnIdIsFound) {
  open();
  EndedTask older = ended_task(1);
  EndedTask newer = ended_task(2);
  EndedTask foreign = ended_task(3);
  older.task_id = newer.task_id = foreign.task_id = "same";
  older.tenant = newer.tenant = "bob";
  foreign.tenant = "ann";
  ASSERT_TRUE(writer_->add(std::vector{older, newer, foreign}, 3).ok());
  reader_ = good(HistoryReader::open(path_));
  EXPECT_EQ(good(reader_->find_by_id("bob", "same")), newer);
  EXPECT_EQ(good(reader_->find_by_id("ann", "same")), foreign);
  EXPECT_FALSE(good(reader_->find_by_id("ann", "other")));
}

// A history of an older version has no index of ids: it is whole without, and gets it.
TEST_F(History, IdsAreFoundByAnIndexThatAnOldHistoryGets) {
  fill(2'000);
  ASSERT_TRUE(good(Connection::open_to_write(path_)).run("DROP INDEX ended_by_id").ok());
  EXPECT_TRUE(check_history(path_).empty());
  EXPECT_EQ(good(reader_->find_by_id("bob", "task-7")), ended_task(7));
  const auto plan = [&] {
    std::string text;
    const std::string sql =
        "EXPLAIN QUERY PLAN SELECT * FROM ended WHERE task_id = 'task-7' AND tenant = 'bob' AND " +
        std::string(kHasOwnId) + " ORDER BY task_no DESC LIMIT 1";
    for (const auto& row : good(reader_->query(sql)).rows)
      text += std::get<std::string>(row.back()) + "\n";
    return text;
  };
  EXPECT_EQ(plan().find("ended_by_id"), std::string::npos);
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(writer_->index_ids().ok());
    EXPECT_NE(plan().find("ended_by_id"), std::string::npos) << plan();
  }
  EXPECT_EQ(good(reader_->find_by_id("bob", "task-7")), ended_task(7));
  EXPECT_FALSE(good(reader_->find_by_id("bob", "task-6")));
  EXPECT_TRUE(check_history(path_).empty());
}

TEST_F(History, AnOwnIdThatLooksLikeANumberIsFound) {
  open();
  EndedTask task = ended_task(12);
  task.task_id = "t-12b";
  ASSERT_TRUE(writer_->add(std::vector{task}, 1).ok());
  reader_ = good(HistoryReader::open(path_));
  EXPECT_EQ(good(reader_->find_by_id(task.tenant, "t-12b")), task);
}

TEST_F(History, AddingAgainChangesNothing) {
  fill(20);
  ASSERT_TRUE(writer_->add(ended_tasks(10, 25), 25).ok());
  ASSERT_TRUE(writer_->add(ended_tasks(1, 5), 5).ok());
  EXPECT_EQ(writer_->projected(), 25u);
  EXPECT_EQ(cell("SELECT count(*) FROM tasks"), "25");
  writer_.reset();
  open();
  EXPECT_EQ(writer_->projected(), 25u);
  EXPECT_EQ(writer_->durable_projected(), 25u);
  EXPECT_TRUE(check_history(path_).empty());
}

TEST_F(History, OnlyACheckpointMakesItDurable) {
  fill(20);
  EXPECT_EQ(writer_->projected(), 20u);
  EXPECT_EQ(writer_->durable_projected(), 0u);
  EXPECT_TRUE(good(writer_->checkpoint()));
  EXPECT_EQ(writer_->durable_projected(), 20u);
}

TEST_F(History, ACheckpointUnderAReaderIsNotYetWhole) {
  fill(20);
  Connection holder = good(Connection::open_to_read(path_));
  ASSERT_TRUE(holder.run("BEGIN").ok());
  ASSERT_TRUE(holder.run("SELECT count(*) FROM ended").ok());
  ASSERT_TRUE(writer_->add(ended_tasks(21, 30), 30).ok());
  EXPECT_FALSE(good(writer_->checkpoint()));
  EXPECT_EQ(writer_->durable_projected(), 0u);
  ASSERT_TRUE(holder.run("COMMIT").ok());
  EXPECT_TRUE(good(writer_->checkpoint()));
  EXPECT_EQ(writer_->durable_projected(), 30u);
}

TEST_F(History, ListsPageFromTheNewestAndFilter) {
  fill(100);
  HistoryFilter filter{.tenant = "ann", .states = {"failed", "expired"}, .limit = 3};
  std::vector<EndedTask> listed;
  for (int pages = 0; pages < 10; ++pages) {
    const HistoryPage page = good(reader_->list(filter));
    listed.insert(listed.end(), page.tasks.begin(), page.tasks.end());
    if (!page.more_before) break;
    filter.before_task_no = *page.more_before;
  }
  std::vector<EndedTask> expected;
  for (std::uint64_t no = 100; no >= 1; --no) {
    const EndedTask task = ended_task(no);
    if (task.tenant == "ann" && task.state == "failed") expected.push_back(without_body(task));
  }
  EXPECT_EQ(listed, expected);

  const HistoryPage night =
      good(reader_->list({.queue = "llm", .group = "night", .limit = 1'000, .bodies = true}));
  EXPECT_EQ(night.tasks.size(), 10u);
  EXPECT_EQ(night.tasks.front(), ended_task(100));
  EXPECT_FALSE(night.more_before);
}

TEST_F(History, AListOverManyRowsIsBoundedAndGoesOn) {
  open();
  EndedTask first = ended_task(3);
  EndedTask far = ended_task(1'000'000);
  ASSERT_TRUE(writer_->add(std::vector{first, far}, 1).ok());
  reader_ = good(HistoryReader::open(path_));
  const HistoryPage page = good(reader_->list({.tenant = "ann"}));
  EXPECT_TRUE(page.tasks.empty());
  ASSERT_TRUE(page.more_before);
  const HistoryPage next =
      good(reader_->list({.tenant = "ann", .before_task_no = *page.more_before}));
  ASSERT_EQ(next.tasks.size(), 1u);
  EXPECT_EQ(next.tasks[0], without_body(first));
  EXPECT_FALSE(next.more_before);
}

TEST_F(History, BodiesArePrunedWhenTheirTimeIsOverAFewAtATime) {
  fill(30);
  EXPECT_EQ(good(writer_->prune(kStart + kDay)), 0u);
  const std::int64_t later = kStart + 2 * kDay;
  EXPECT_EQ(good(writer_->prune(later, 20)), 20u);
  EXPECT_EQ(good(writer_->prune(later, 20)), 7u);  // every tenth is kept for good
  EXPECT_EQ(good(writer_->prune(later, 20)), 0u);
  for (std::uint64_t no = 1; no <= 30; ++no) {
    const EndedTask task = ended_task(no);
    EXPECT_EQ(good(reader_->find(no)), no % 10 == 0 ? task : without_body(task));
  }
  ASSERT_TRUE(writer_->add(ended_tasks(1, 30), 30).ok());  // projected again
  EXPECT_EQ(good(reader_->find(1)), without_body(ended_task(1)));
  EXPECT_TRUE(check_history(path_).empty());
}

TEST_F(History, TasksLeaveItWhenTheyAreOldTheOldestFirst) {
  fill(30);
  EXPECT_EQ(good(writer_->remove_ended(ended_task(1).ended_ns - 1)), 0u);
  EXPECT_EQ(good(writer_->remove_ended(ended_task(20).ended_ns, 15)), 15u);
  EXPECT_EQ(good(writer_->remove_ended(ended_task(20).ended_ns, 15)), 5u);
  EXPECT_EQ(good(writer_->remove_ended(ended_task(20).ended_ns, 15)), 0u);
  EXPECT_EQ(good(reader_->find(20)), std::nullopt);
  EXPECT_EQ(good(reader_->find(21)), ended_task(21));
  EXPECT_EQ(cell("SELECT count(*) FROM bodies"), "10");
  EXPECT_TRUE(check_history(path_).empty());
}

TEST_F(History, ViewsAnswer) {
  fill(40);
  EXPECT_EQ(cell("SELECT count(*) FROM tasks WHERE state = 'failed' AND reason = 'run_limit'"),
            "10");
  EXPECT_EQ(cell("SELECT submitted_at FROM tasks WHERE task_no = 2"), "2024-10-04T00:00:02.000Z");
  EXPECT_EQ(cell("SELECT run_ns FROM tasks WHERE task_no = 2"), std::to_string(kSecond));
  EXPECT_EQ(cell("SELECT json_extract(labels, '$.team') FROM tasks WHERE task_no = 2"),
            "vision \\ \"a\"");
  EXPECT_EQ(cell("SELECT count(*) FROM attempts"), "80");
  EXPECT_EQ(cell("SELECT gpus || lease FROM attempts WHERE task_no = 7 AND number = 1"),
            "[\"n1/0\",\"n1/1\"]70");
  EXPECT_EQ(cell("SELECT group_concat(event) FROM (SELECT event FROM events WHERE task_no = 4 "
                 "ORDER BY at_ns)"),
            "submitted,eligible,started,started,failed");
  EXPECT_EQ(cell("SELECT sum(tasks) || ' ' || sum(completed) || ' ' || sum(gpu_ms) FROM usage"),
            "40 30 80");
}

TEST_F(History, WhatAnAttemptCostIsSettledAfterItsTaskEnded) {
  fill(3);
  const EndedTask before = good(reader_->find(2)).value();
  const std::uint64_t lease = before.attempts.front().lease;
  const std::vector<SettledCharge> settled = {{2, lease, 77}, {2, lease + 1000, 5}, {99, 1, 5}};
  ASSERT_TRUE(writer_->add({}, 4, settled).ok());
  EndedTask expected = before;
  expected.attempts.front().charge_us = 77;
  expected.charge_us += 77 - before.attempts.front().charge_us;
  EXPECT_EQ(good(reader_->find(2)).value(), expected);
  ASSERT_TRUE(writer_->add(ended_tasks(1, 3), 4, settled).ok());  // projected again
  EXPECT_EQ(good(reader_->find(2)).value(), expected);
  EXPECT_EQ(writer_->projected(), 4U);
}

TEST_F(History, UsageIsByTenantQueueAndDay) {
  fill(40);
  EndedTask next_day = ended_task(41);
  next_day.ended_ns += kDay;
  ASSERT_TRUE(writer_->add(std::vector{next_day}, 41).ok());
  const auto all = good(reader_->usage("", 2, kStart + kDay + 1));
  ASSERT_EQ(all.size(), 5u);
  EXPECT_EQ(all[0], (UsageLine{"bob", "embedding", "2024-10-05", 1, 1, 2, 2'000}));
  EXPECT_EQ(all[1].day, "2024-10-04");
  EXPECT_EQ(good(reader_->usage("", 1, kStart + kDay + 1)).size(), 1u);
  EXPECT_EQ(good(reader_->usage("ann", 7, kStart + kDay + 1)).size(), 2u);
  EXPECT_TRUE(good(reader_->usage("nobody", 7, kStart + kDay + 1)).empty());
}

TEST_F(History, QueriesOnlyRead) {
  fill(5);
  for (const char* sql :
       {"DELETE FROM ended", "UPDATE meta SET value = 0", "DROP VIEW tasks", "CREATE TABLE x (a)",
        "ATTACH '/tmp/x' AS x", "PRAGMA journal_mode=DELETE", "BEGIN", "SELECT 1; SELECT 2", "",
        "SELECT * FROM nowhere"}) {
    EXPECT_FALSE(reader_->query(sql).ok()) << sql;
  }
  const QueryResult result =
      good(reader_->query("SELECT NULL AS a, 1.5 AS b, x'01' AS c FROM tasks", 3));
  EXPECT_EQ(result.columns, (std::vector<std::string>{"a", "b", "c"}));
  ASSERT_EQ(result.rows.size(), 3u);
  EXPECT_TRUE(result.cut);
  EXPECT_EQ(result.rows[0][0], QueryCell());
  EXPECT_EQ(result.rows[0][1], QueryCell("1.5"));
  EXPECT_EQ(result.rows[0][2], QueryCell(std::vector{std::byte{1}}));
}

TEST_F(History, ReadersAndTheWriterWorkAtOnce) {
  fill(1);
  std::atomic<bool> done = false;
  std::vector<std::thread> readers;
  for (int i = 0; i < 3; ++i) {
    readers.emplace_back([&] {
      while (!done) {
        const HistoryPage page = good(reader_->list({.limit = 50, .bodies = true}));
        for (const EndedTask& task : page.tasks) {
          EXPECT_EQ(task, ended_task(task.task_no));
        }
      }
    });
  }
  for (std::uint64_t no = 2; no < 400; no += 10) {
    ASSERT_TRUE(writer_->add(ended_tasks(no, no + 9), no + 9).ok());
    ASSERT_TRUE(writer_->checkpoint().ok());
  }
  done = true;
  for (std::thread& reader : readers) {
    reader.join();
  }
  EXPECT_EQ(cell("SELECT count(*) FROM tasks"), "401");
}

// A value changed behind its checksum, in any column.
TEST_F(History, AWrongRowIsAnErrorThatNamesIt) {
  fill(10);
  const QueryResult columns = good(reader_->query("SELECT * FROM ended LIMIT 1"));
  writer_.reset();
  for (const std::string& column : columns.columns) {
    if (column == "task_no") continue;
    Connection hand = good(Connection::open_to_write(path_));
    const auto run = [&](const std::string& sql) {
      const std::string named = std::regex_replace(sql, std::regex("COLUMN"), '"' + column + '"');
      ASSERT_TRUE(hand.run(named).ok()) << named;
    };
    run("CREATE TEMP TABLE kept AS SELECT COLUMN AS v FROM ended WHERE task_no = 7");
    run("UPDATE ended SET COLUMN = CASE typeof(COLUMN) WHEN 'text' THEN COLUMN || '1' "
        "ELSE COLUMN + 1 END WHERE task_no = 7");
    const auto found = reader_->find(7);
    ASSERT_FALSE(found.ok()) << column;
    EXPECT_NE(found.error().message.find("task 7"), std::string::npos);
    EXPECT_FALSE(reader_->list({}).ok());
    EXPECT_TRUE(reader_->find(6).ok());
    const auto findings = check_history(path_);
    ASSERT_FALSE(findings.empty()) << column;
    EXPECT_NE(findings[0].message.find("task 7"), std::string::npos) << findings[0].message;
    EXPECT_FALSE(findings[0].repair.empty());
    run("UPDATE ended SET COLUMN = (SELECT v FROM temp.kept) WHERE task_no = 7");
    EXPECT_EQ(good(reader_->find(7)), ended_task(7));
  }
}

// Wherever the row stood: no page that reaches over it is given without a word.
TEST_F(History, AMissingRowIsAnErrorThatNamesIt) {
  fill(40);
  EndedTask far = ended_task(60);  // those between them have not ended
  ASSERT_TRUE(writer_->add(std::vector{far}, 60).ok());
  writer_.reset();
  EXPECT_EQ(good(reader_->list({.limit = 100})).tasks.size(), 41U);
  EXPECT_FALSE(good(reader_->find(50))) << "it has not ended, and is not missed";
  Connection hand = good(Connection::open_to_write(path_));
  for (const std::uint64_t no : {1, 2, 20, 40, 60}) {
    const std::string row = "task_no = " + std::to_string(no);
    ASSERT_TRUE(hand.run("CREATE TEMP TABLE kept AS SELECT * FROM ended WHERE " + row).ok());
    ASSERT_TRUE(hand.run("DELETE FROM ended WHERE " + row).ok());
    const auto found = reader_->find(no);
    ASSERT_FALSE(found.ok()) << no;
    EXPECT_NE(found.error().message.find("the row of task " + std::to_string(no) + " is missing"),
              std::string::npos)
        << found.error().message;
    for (const std::size_t limit : {1U, 7U, 100U}) {
      HistoryFilter filter{.limit = limit};
      Result<HistoryPage> page = reader_->list(filter);
      while (page && page->more_before) {
        filter.before_task_no = *page->more_before;
        page = reader_->list(filter);
      }
      EXPECT_FALSE(page.ok()) << "task " << no << ", pages of " << limit;
    }
    EXPECT_FALSE(reader_->list({.tenant = "nobody"}).ok()) << "whose it was is not known";
    ASSERT_TRUE(hand.run("INSERT INTO ended SELECT * FROM temp.kept; DROP TABLE temp.kept").ok());
    EXPECT_EQ(good(reader_->list({.limit = 100})).tasks.size(), 41U);
  }
  ASSERT_TRUE(hand.run("DELETE FROM ended").ok());
  EXPECT_FALSE(reader_->list({}).ok());
}

TEST_F(History, WrongBodiesMetaAndSchemaAreFound) {
  fill(10);
  writer_.reset();
  Connection hand = good(Connection::open_to_write(path_));
  const auto breaks = [&](const std::string& sql, const std::string& undo) {
    ASSERT_TRUE(hand.run(sql).ok()) << sql;
    EXPECT_FALSE(check_history(path_).empty()) << sql;
    ASSERT_TRUE(hand.run(undo).ok()) << undo;
    EXPECT_TRUE(check_history(path_).empty()) << undo;
  };
  breaks("UPDATE bodies SET expires_ns = expires_ns + 1 WHERE task_no = 3",
         "UPDATE bodies SET expires_ns = expires_ns - 1 WHERE task_no = 3");
  breaks("UPDATE meta SET value = value + 1 WHERE key = 'projected'",
         "UPDATE meta SET value = value - 1 WHERE key = 'projected'");
  breaks("CREATE TABLE more (a)", "DROP TABLE more");
  ASSERT_TRUE(hand.run("DELETE FROM bodies WHERE task_no = 3").ok());
  EXPECT_FALSE(check_history(path_).empty());
  EXPECT_FALSE(reader_->find(3).ok());
  ASSERT_TRUE(hand.run("UPDATE meta SET value = 7 WHERE key = 'projected'").ok());
  const auto refused = HistoryWriter::open(path_);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("projected anew"), std::string::npos);
}

TEST_F(History, AMissingOrForeignFileIsAFinding) {
  EXPECT_EQ(check_history(path_).size(), 1u);
  EXPECT_FALSE(HistoryReader::open(path_).ok());
  std::ofstream(path_) << "this is no database, but long enough to be taken for one, maybe";
  EXPECT_FALSE(check_history(path_).empty());
  EXPECT_FALSE(HistoryWriter::open(path_).ok());
}

// Flips single bytes over the file and its log. Each is found, or what is read is what was written,
// complete up to the place it claims: a log that lost its end is projected again from there.
TEST_F(History, SingleByteFlipsAreFoundOrHarmless) {
  open();
  ASSERT_TRUE(writer_->add(ended_tasks(1, 100), 100).ok());
  ASSERT_TRUE(good(writer_->checkpoint()));
  ASSERT_TRUE(writer_->add(ended_tasks(101, 120), 120).ok());  // stays in the log
  journal::testing::Random random(5);
  int found = 0;
  int shorter = 0;
  for (int i = 0; i < 240; ++i) {
    const TempFolder copy;
    testing::copy_folder(folder_.path(), copy.path());
    std::filesystem::remove(copy / "history.sqlite-shm");
    const auto file = copy / (i % 4 == 0 ? "history.sqlite-wal" : "history.sqlite");
    const std::uint64_t offset = random.below(std::filesystem::file_size(file));
    testing::flip_byte(file, offset, static_cast<std::byte>(1 + random.below(255)));
    if (!check_history(copy / "history.sqlite").empty()) {
      ++found;
      continue;
    }
    const std::uint64_t projected = good(HistoryWriter::open(copy / "history.sqlite"))->projected();
    if (projected == 100) ++shorter;
    const auto reader = good(HistoryReader::open(copy / "history.sqlite"));
    auto expected = ended_tasks(1, projected);
    std::reverse(expected.begin(), expected.end());
    EXPECT_EQ(good(reader->list({.limit = 1'000, .bodies = true})).tasks, expected)
        << "byte " << offset << " of " << file;
  }
  EXPECT_GT(found, 60);
  EXPECT_GT(shorter, 10);
}

TEST_F(History, DyingAroundTheCommitLeavesRowsAndPlaceTogether) {
  fill(5);
  writer_.reset();
  reader_.reset();
  for (const auto& [point, projected] :
       {std::pair(CrashPoint::history_before, 5u), std::pair(CrashPoint::history_after, 9u)}) {
    EXPECT_EXIT(
        {
          open();
          arm_crash_point(point, 1);
          (void)writer_->add(ended_tasks(6, 9), 9);
        },
        ::testing::KilledBySignal(SIGKILL), "");
    open();
    EXPECT_EQ(writer_->projected(), projected);
    EXPECT_EQ(good(good(HistoryReader::open(path_))->list({})).tasks.size(), projected);
    writer_.reset();
  }
}

// The guide's queries run, and it names every column of the views.
TEST_F(History, TheGuideIsTrue) {
  fill(40);
  std::ifstream file(BERTH_SOURCE_DIR "/docs/guide/history.md");
  const std::string guide((std::istreambuf_iterator<char>(file)), {});
  int queries = 0;
  for (std::size_t at = guide.find("```sql\n"); at != std::string::npos;
       at = guide.find("```sql\n", at)) {
    at += 7;
    const std::size_t end = guide.find("```", at);
    const auto result = reader_->query(guide.substr(at, end - at));
    EXPECT_TRUE(result.ok()) << result.error().message;
    ++queries;
    at = end;
  }
  EXPECT_EQ(queries, 3);
  for (const std::string view : {"tasks", "attempts", "events", "usage"}) {
    for (const std::string& column : good(reader_->query("SELECT * FROM " + view)).columns) {
      const std::size_t chapter = guide.find("## " + view);
      ASSERT_NE(chapter, std::string::npos) << view;
      const std::string_view text =
          std::string_view(guide).substr(chapter, guide.find("\n## ", chapter) - chapter);
      EXPECT_NE(text.find("`" + column + "`"), std::string_view::npos) << view << "." << column;
    }
  }
}

TEST(HistoryJson, ReadsWhatItWritesAndNothingElse) {
  const EndedTask task = ended_task(8);
  const std::string attempts = attempts_to_json(task.attempts);
  EXPECT_EQ(attempts_from_json(attempts), task.attempts);
  EXPECT_EQ(labels_from_json(labels_to_json(task.labels)), task.labels);
  EXPECT_EQ(attempts_to_json({}), "[]");
  EXPECT_EQ(labels_to_json({}), "{}");
  for (std::size_t cut = 0; cut < attempts.size(); ++cut) {
    EXPECT_FALSE(attempts_from_json(attempts.substr(0, cut))) << cut;
  }
  for (const char* wrong :
       {"", "{", "{\"a\"}", "{\"a\":\"\\", "{\"a\":\"\\u00", "{\"a\":1}", "{},"}) {
    EXPECT_FALSE(labels_from_json(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace berth::store::history_test
