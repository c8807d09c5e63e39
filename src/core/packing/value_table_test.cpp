// The value table: its buckets, its bytes, and bytes that are refused.
#include "core/packing/value_table.h"

#include <gtest/gtest.h>

namespace berth::core::value_table_test {
namespace {

ValueTable sample() {
  ValueTable table;
  table.pages.resize(2);
  table.pages[0].kind = KindId{2};
  table.pages[1].kind = KindId{63};
  std::int32_t value = 0;
  for (ValueTable::Page* page : {&table.any, &table.pages[0].page, &table.pages[1].page}) {
    for (auto& row : *page) {
      for (std::int32_t& cell : row)
        cell = value++ * 7;
    }
  }
  return table;
}

std::string why_refused(const std::string& bytes) {
  const auto table = decode_value_table(bytes);
  return table.ok() ? "" : table.error().message;
}

TEST(ValueTable, BytesAndBack) {
  const ValueTable table = sample();
  const std::string bytes = encode(table);
  const auto read = decode_value_table(bytes);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(*read, table);
  EXPECT_EQ(encode(*read), bytes);
}

TEST(ValueTable, AKindWithoutAPageUsesThatOfAny) {
  const ValueTable table = sample();
  EXPECT_EQ(&table.page(KindId{2}), &table.pages[0].page);
  EXPECT_EQ(&table.page(KindId{63}), &table.pages[1].page);
  EXPECT_EQ(&table.page(KindId{3}), &table.any);
}

TEST(ValueTable, EveryOtherLengthIsRefused) {
  const std::string bytes = encode(sample());
  for (std::size_t length = 0; length < bytes.size(); ++length)
    ASSERT_FALSE(decode_value_table(std::string_view(bytes).substr(0, length)).ok()) << length;
  EXPECT_NE(why_refused(bytes + '\0'), "");
}

TEST(ValueTable, RefusalsSayWhatIsWrong) {
  const std::string good = encode(sample());
  const auto changed = [&](std::size_t at, int to) {
    std::string bytes = good;
    bytes[at] = static_cast<char>(to);
    return why_refused(bytes);
  };
  EXPECT_NE(changed(0, 0).find("does not begin like one"), std::string::npos);
  EXPECT_NE(changed(4, 9).find("version 9"), std::string::npos);
  EXPECT_NE(changed(8, 3).find("3 kinds"), std::string::npos);
  EXPECT_NE(changed(11, 255).find("length"), std::string::npos);
  EXPECT_NE(changed(15, 127).find("more than a whole GPU"), std::string::npos);
  const std::size_t page = std::size_t{4} * kCpuRatios * kResiduals;
  EXPECT_NE(changed(12 + page, 64).find("ascending"), std::string::npos);
  EXPECT_NE(changed(12 + page + 4 + page, 2).find("ascending"), std::string::npos);
  EXPECT_NE(changed(good.size() - 1, 127).find("more than a whole GPU"), std::string::npos);
}

TEST(ValueTable, RatiosOfCpusToIdleGpus) {
  EXPECT_EQ(cpu_ratio(0, 100), 0U);
  EXPECT_EQ(cpu_ratio(999, 100), 0U);
  EXPECT_EQ(cpu_ratio(1000, 100), 1U);
  EXPECT_EQ(cpu_ratio(96'000, 800), 9U);  // 12 cores for each idle GPU
  EXPECT_EQ(cpu_ratio(1'000'000, 10), kCpuRatios - 1);
}

}  // namespace
}  // namespace berth::core::value_table_test
