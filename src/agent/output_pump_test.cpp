// Pipes that somebody else still writes to when their task has ended.
#include "agent/output_pump.h"

#include <array>
#include <optional>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/testing/commands.h"

namespace berth::agent::output_pump_test {
namespace {

constexpr std::size_t kHeld = 1 << 20;

// Otherwise whoever holds the pipe could keep the task from ending. The output goes into another
// pipe here, whose reader fills the first one again before each read.
TEST(OutputPumpTest, NoMoreIsDrainedThanThePipeHeld) {
  testing::TemporaryFolder folder;
  const std::string path = folder.path() / "out";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  std::optional<OutputFile> file(std::in_place, path, std::uint64_t{1} << 30);
  Result<OutputPump> pump = OutputPump::open(*file);
  ASSERT_TRUE(pump.ok());
  const Fd end = pump->take_write_end();
  ASSERT_EQ(::fcntl(end.get(), F_SETPIPE_SZ, kHeld), static_cast<int>(kHeld));
  ASSERT_EQ(::fcntl(end.get(), F_SETFL, O_NONBLOCK), 0);
  const std::string bytes(kHeld, 'x');
  ASSERT_EQ(::write(end.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(kHeld));
  std::size_t kept = 0;
  std::size_t added = 0;
  std::thread reader([&] {
    const Fd out(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    std::array<char, 65536> buffer;
    ssize_t got = 0;
    do {
      kept += static_cast<std::size_t>(got);
      ssize_t more = 0;
      while (added < 4 * kHeld && (more = ::write(end.get(), bytes.data(), 65536)) > 0) {
        added += static_cast<std::size_t>(more);
      }
      got = ::read(out.get(), buffer.data(), buffer.size());
    } while (got > 0);
  });
  pump->drain();
  file.reset();
  reader.join();
  EXPECT_GT(added, 0u);
  EXPECT_EQ(kept, kHeld);
}

}  // namespace
}  // namespace berth::agent::output_pump_test
