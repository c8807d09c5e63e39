// See cases.h.
#include "tests/property/cases.h"

#include <cstdlib>
#include <sstream>
#include <stdexcept>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "base/assert.h"
#include "tests/property/oracle.h"

namespace berth::property {
namespace {

constexpr std::size_t kSetupNumbers = 24;
constexpr int kLongRunFactor = 8;

[[noreturn]] void throw_on_assert(const char* expression, const char* file, int line) {
  throw Broken(std::string(file) + ":" + std::to_string(line) + ": ASSERT(" + expression + ")");
}

rc::Gen<std::uint32_t> any_number() {
  // The whole range at every size; it shrinks towards 0.
  return rc::gen::resize(rc::kNominalSize, rc::gen::arbitrary<std::uint32_t>());
}

rc::Gen<Command> any_command() {
  return rc::gen::map(
      rc::gen::tuple(any_number(), any_number(), any_number(), any_number(), any_number()),
      [](const auto& numbers) {
        const auto& [verb, a, b, c, gap] = numbers;
        return Command{verb % 20, a, b, c, gap};
      });
}

rc::Gen<Case> any_case(int commands) {
  return rc::gen::map(
      rc::gen::pair(rc::gen::container<std::vector<std::uint32_t>>(kSetupNumbers, any_number()),
                    rc::gen::withSize([commands](int size) {
                      const int longest = 10 + size * commands / rc::kNominalSize;
                      return rc::gen::resize(
                          longest, rc::gen::container<std::vector<Command>>(any_command()));
                    })),
      [](const auto& parts) {
        return Case{parts.first, parts.second};
      });
}

}  // namespace

bool is_long_run() { return std::getenv("BERTH_LONG") != nullptr; }

void for_cases(const CaseOptions& options, const std::function<void(const Case&)>& property) {
  set_assert_handler(throw_on_assert);
  rc::detail::TestParams params;
  const char* seed = std::getenv("BERTH_SEED");
  params.seed = seed == nullptr ? 1 : std::strtoull(seed, nullptr, 10);
  params.maxSuccess = options.cases * (is_long_run() ? kLongRunFactor : 1);
  const auto gen = any_case(options.commands);
  const auto result = rc::detail::checkTestable(
      [&] {
        const Case input = *gen;
        property(input);
      },
      rc::detail::TestMetadata(), params);
  set_assert_handler(nullptr);
  if (result.template is<rc::detail::SuccessResult>()) return;
  std::ostringstream text;
  rc::detail::printResultMessage(result, text);
  FAIL() << text.str();
}

void fail(const std::vector<Step>& steps, const std::string& sentence) {
  throw Broken("\n" + describe(steps) + "=> " + sentence);
}

void run_world(World& world) {
  try {
    world.run();
  } catch (const Broken& broken) {
    fail(world.steps(), broken.what());
  }
}

}  // namespace berth::property
