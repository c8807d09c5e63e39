// salvage_history; see history.h.
#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "store/history.h"
#include "store/history_columns.h"

namespace berth::store {
namespace {

constexpr std::size_t kSalvagedAtOnce = 1000;

// Walks the numbers upwards. Where the file cannot be read it steps on, further each time, until
// it can be read again.
class SalvageWalk {
 public:
  SalvageWalk(Connection& connection, std::uint64_t upto) : connection_(connection), upto_(upto) {}

  // The next rows that are good; empty: there are no more.
  std::vector<EndedTask> next() {
    std::vector<EndedTask> tasks;
    while (tasks.empty() && from_ <= upto_ && read_some(tasks)) {
    }
    for (EndedTask& task : tasks)
      add_body(task);
    return tasks;
  }
  std::uint64_t bad() const { return bad_; }

 private:
  // False: all was read.
  bool read_some(std::vector<EndedTask>& tasks) {
    Result<Statement> query = connection_.prepare("SELECT " + ended_columns() +
                                                  " FROM ended WHERE task_no >= ? AND task_no <= ? "
                                                  "ORDER BY task_no LIMIT ?");
    if (!query) return false;
    query->bind(0, static_cast<std::int64_t>(from_));
    query->bind(1, static_cast<std::int64_t>(upto_));
    query->bind(2, static_cast<std::int64_t>(kSalvagedAtOnce));
    std::size_t rows = 0;
    for (;;) {
      const Result<bool> row = query->step();
      if (!row) {
        if (rows > 0) return true;  // from behind the last one again
        ++bad_;
        from_ += std::exchange(step_, std::min<std::uint64_t>(step_ * 2, 4096));
        return true;
      }
      if (!*row) return rows == kSalvagedAtOnce;
      ++rows;
      step_ = 1;
      from_ = static_cast<std::uint64_t>(query->integer(0)) + 1;
      EndedTask task;
      if (read_task(*query, task)) {
        tasks.push_back(std::move(task));
      } else {
        ++bad_;
      }
    }
  }

  // A body that cannot be read is left out.
  void add_body(EndedTask& task) {
    Result<Statement> query = connection_.prepare("SELECT " + std::string(kBodyColumns) +
                                                  " FROM bodies WHERE task_no = ?");
    if (!query) return;
    query->bind(0, static_cast<std::int64_t>(task.task_no));
    const Result<bool> row = query->step();
    if (!row || !*row) return;
    if (read_body(*query, task)) return;
    task.spec.clear();
    task.result.clear();
  }

  Connection& connection_;
  const std::uint64_t upto_;
  std::uint64_t from_ = 0;
  std::uint64_t step_ = 1;
  std::uint64_t bad_ = 0;
};

}  // namespace

Result<Salvaged> salvage_history(const std::filesystem::path& path, std::uint64_t upto_task_no,
                                 const TakeSalvaged& take) {
  Salvaged salvaged;
  Result<Connection> connection = Connection::open_to_read(path);
  if (!connection) return salvaged;  // nothing can be read
  constexpr std::uint64_t kTop = std::numeric_limits<std::int64_t>::max();
  SalvageWalk walk(*connection, std::min(upto_task_no, kTop - 1));
  for (;;) {
    const std::vector<EndedTask> tasks = walk.next();
    salvaged.bad = walk.bad();
    if (tasks.empty()) return salvaged;
    salvaged.good += tasks.size();
    if (Status taken = take(tasks); !taken) return taken.error();
  }
}

}  // namespace berth::store
