// What is learned of arrivals: counts, fading, the bound, and the typical shapes.
#include "core/packing/mix.h"

#include <gtest/gtest.h>

namespace berth::core::mix_test {
namespace {

Shape shape_of(int gpus, int share, std::int64_t cpu, std::int64_t memory = 0) {
  Shape shape;
  shape.gpus = static_cast<std::uint16_t>(gpus);
  shape.share = static_cast<std::uint16_t>(share);
  shape.cpu = Milli{cpu};
  shape.memory = Mib{memory};
  return shape;
}

void arrive(Mix& mix, const Shape& shape, int times) {
  for (int i = 0; i < times; ++i)
    mix.note_arrival(shape);
}

TEST(Mix, WithoutGpusShareAndKindsTellNothingApart) {
  Mix mix;
  Shape cpu = shape_of(0, 1000, 4000);
  arrive(mix, cpu, 1);
  cpu.share = 300;
  cpu.kinds = 5;
  arrive(mix, cpu, 1);
  EXPECT_EQ(mix.classes().size(), 1U);
}

TEST(Mix, TypicalShapesCover95PercentTheMostFrequentFirst) {
  Mix mix;
  arrive(mix, shape_of(1, 500, 1000), 30);
  arrive(mix, shape_of(0, 1000, 1000), 60);
  arrive(mix, shape_of(1, 1000, 1000), 6);
  arrive(mix, shape_of(8, 1000, 1000), 4);  // the last 4 % are left out
  const TypicalMix shapes = typical(mix);
  ASSERT_EQ(shapes.size(), 3U);
  EXPECT_EQ(shapes[0].shape.gpus, 0);
  EXPECT_EQ(shapes[1].shape.share, 500);
  EXPECT_EQ(shapes[2].shape.share, 1000);
  EXPECT_EQ(shapes[0].weight, kWeightTotal * 60 / 96);
}

TEST(Mix, MemoryIsTheMeanOfAClass) {
  Mix mix;
  arrive(mix, shape_of(1, 500, 1000, 100), 1);
  arrive(mix, shape_of(1, 500, 1000, 400), 2);
  EXPECT_EQ(typical(mix).at(0).memory, 300);
}

TEST(Mix, OldArrivalsFadeByCount) {
  Mix mix;
  arrive(mix, shape_of(1, 500, 1000), Mix::kArrivalsRemembered);
  arrive(mix, shape_of(1, 800, 1000), Mix::kArrivalsRemembered);
  const TypicalMix shapes = typical(mix);
  ASSERT_EQ(shapes.size(), 2U);
  EXPECT_EQ(shapes[0].shape.share, 800) << "as many arrivals, but newer";
  arrive(mix, shape_of(1, 800, 1000), Mix::kArrivalsRemembered * 20);
  EXPECT_EQ(mix.classes().size(), 1U) << "what no longer arrives is forgotten";
}

TEST(Mix, IsBoundedAndDropsTheLeastCounted) {
  Mix mix;
  arrive(mix, shape_of(1, 999, 1), 3);
  for (int i = 0; i < 3000; ++i)
    arrive(mix, shape_of(1, 500, 10 + i), 1);
  EXPECT_EQ(mix.classes().size(), Mix::kClassesMax);
  EXPECT_TRUE(mix.classes().contains(class_of(shape_of(1, 999, 1))));
  EXPECT_TRUE(mix.classes().contains(class_of(shape_of(1, 500, 10 + 2999)))) << "the newest stays";
  EXPECT_LE(typical(mix).size(), kTypicalMax);
}

TEST(Mix, TheOrderOfArrivalsDoesNotMatter) {
  Mix one;
  Mix other;
  for (int i = 0; i < 500; ++i) {
    one.note_arrival(shape_of(1, 100 + i % 7 * 50, i % 11, i));
    other.note_arrival(shape_of(1, 100 + (499 - i) % 7 * 50, (499 - i) % 11, 499 - i));
  }
  EXPECT_EQ(one, other);
  EXPECT_EQ(typical(one), typical(other));
}

TEST(Mix, IsRestoredFromItsContent) {
  Mix mix;
  arrive(mix, shape_of(1, 500, 1000, 7), 40);
  EXPECT_EQ(Mix::restored(mix.classes(), mix.remembered()), mix);
}

TEST(Mix, NothingArrivedNothingIsTypical) { EXPECT_TRUE(typical(Mix{}).empty()); }

}  // namespace
}  // namespace berth::core::mix_test
