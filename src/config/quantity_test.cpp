// Quantities: what people write is taken exactly, or refused with the reason.
#include "config/quantity.h"

#include <gtest/gtest.h>

namespace berth::config::quantity_test {
namespace {

std::int64_t ns(std::string_view text) {
  const Quantity quantity = parse_quantity(text, Unit::time);
  EXPECT_EQ(quantity.error, QuantityError::none) << text;
  return quantity.value;
}

std::int64_t mib(std::string_view text) {
  const Quantity quantity = parse_quantity(text, Unit::vram);
  EXPECT_EQ(quantity.error, QuantityError::none) << text;
  return quantity.value;
}

TEST(Quantity, DurationsAreExact) {
  EXPECT_EQ(ns("120ms"), 120'000'000);
  EXPECT_EQ(ns("1.5s"), 1'500'000'000);
  EXPECT_EQ(ns("12.5 ms"), 12'500'000);
  EXPECT_EQ(ns("10min"), 600'000'000'000);
  EXPECT_EQ(ns("0.1s"), 100'000'000);
  EXPECT_EQ(ns("0.000000001s"), 1);
  EXPECT_EQ(ns("2h"), 7'200'000'000'000);
  EXPECT_EQ(ns("1_000us"), 1'000'000);
  EXPECT_EQ(ns("-5s"), -5'000'000'000);
  EXPECT_EQ(ns("-0.1ns"), -1);
}

TEST(Quantity, VramIsInMibAndRoundsUp) {
  EXPECT_EQ(mib("8GB"), 8192);
  EXPECT_EQ(mib("4.5GB"), 4608);
  EXPECT_EQ(mib("512MB"), 512);
  EXPECT_EQ(mib("40 GiB"), 40960);
  EXPECT_EQ(mib("1TB"), 1 << 20);
  EXPECT_EQ(mib("0.3GB"), 308);
  EXPECT_EQ(mib("1KB"), 1);
}

TEST(Quantity, WhatIsNoQuantitySaysWhy) {
  const auto error = [](std::string_view text) { return parse_quantity(text, Unit::time).error; };
  EXPECT_EQ(error(""), QuantityError::malformed);
  EXPECT_EQ(error("soon"), QuantityError::malformed);
  EXPECT_EQ(error("."), QuantityError::malformed);
  EXPECT_EQ(error("1.2.3s"), QuantityError::malformed);
  EXPECT_EQ(error("120"), QuantityError::no_unit);
  EXPECT_EQ(error("120m"), QuantityError::unknown_unit);
  EXPECT_EQ(error("8GB"), QuantityError::unknown_unit);
  EXPECT_EQ(error("1 s 2"), QuantityError::unknown_unit);
  EXPECT_EQ(error("300000000d"), QuantityError::too_large);
  EXPECT_EQ(error(std::string(400, '9') + "s"), QuantityError::too_large);
}

TEST(Quantity, ANumberWithItsUnitInTheKeyIsTheSame) {
  EXPECT_EQ(scaled_quantity(std::int64_t{120}, 1'000'000, Unit::time).value, ns("120ms"));
  EXPECT_EQ(scaled_quantity(12.5, 1'000'000, Unit::time).value, ns("12.5ms"));
  EXPECT_EQ(scaled_quantity(0.1, 1'000'000'000, Unit::time).value, ns("0.1s"));
  EXPECT_EQ(scaled_quantity(4.5, 1 << 20, Unit::vram).value, mib("4.5GB"));
  EXPECT_EQ(scaled_quantity(INT64_MAX, 86'400'000'000'000, Unit::time).error,
            QuantityError::too_large);
  EXPECT_EQ(scaled_quantity(1e300, 1, Unit::time).error, QuantityError::too_large);
}

TEST(Quantity, KeysLoseTheirUnit) {
  EXPECT_EQ(without_unit_suffix("max_batch_wait_ms"), "max_batch_wait");
  EXPECT_EQ(without_unit_suffix("usage_window_minutes"), "usage_window");
  EXPECT_EQ(without_unit_suffix("vram_gb"), "vram");
  EXPECT_EQ(without_unit_suffix("max_gpus"), "max_gpus");
  EXPECT_EQ(without_unit_suffix("rate_per_second"), "rate_per_second");
}

TEST(Quantity, TextIsTheShortestExactSpelling) {
  EXPECT_EQ(duration_text(120'000'000), "120ms");
  EXPECT_EQ(duration_text(1'500'000'000), "1.5s");
  EXPECT_EQ(duration_text(0), "0s");
  EXPECT_EQ(duration_text(14'285'714), "14285.714us");
  EXPECT_EQ(duration_text(600'000'000'000), "10min");
  EXPECT_EQ(duration_text(-1), "-1ns");
  EXPECT_EQ(vram_text(4608), "4.5GB");
  EXPECT_EQ(vram_text(300), "300MB");
}

TEST(Quantity, SizesAreInBytesAndBinary) {
  const auto bytes = [](std::string_view text) { return parse_quantity(text, Unit::bytes).value; };
  EXPECT_EQ(bytes("512B"), 512);
  EXPECT_EQ(bytes("64KiB"), 65'536);
  EXPECT_EQ(bytes("1.5 MB"), 1'572'864);
  EXPECT_EQ(bytes("4GiB"), 4'294'967'296);
  EXPECT_EQ(parse_quantity("4 pages", Unit::bytes).error, QuantityError::unknown_unit);
  EXPECT_EQ(parse_quantity("9999999999TiB", Unit::bytes).error, QuantityError::too_large);
  EXPECT_EQ(bytes_text(0), "0B");
  EXPECT_EQ(bytes_text(1'000), "1000B");
  EXPECT_EQ(bytes_text(65'536), "64KiB");
  EXPECT_EQ(bytes_text(1'572'864), "1.5MiB");
  EXPECT_EQ(without_unit_suffix("max_payload_kb"), "max_payload");
}

}  // namespace
}  // namespace berth::config::quantity_test
