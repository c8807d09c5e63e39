// Fuzz: any bytes as requests and agents' messages, through the reader of specs into a sequencer.
// Nothing crashes, invariants hold, each submit is answered once, and the journal that it wrote
// leads a replayer to the same state and the same running hash.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "base/assert.h"
#include "tests/fuzz/service_steps.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t max_size, unsigned seed) {
  using namespace berth::fuzz;
  constexpr unsigned kPlainOneIn = 16;
  if (seed % kPlainOneIn == 0) return LLVMFuzzerMutate(data, size, max_size);
  Random random(seed);
  std::vector<Step> steps = steps_of({reinterpret_cast<const char*>(data), size});
  for (std::uint64_t left = 1 + random.below(3); left > 0; --left)
    change(steps, random);
  const std::string bytes = bytes_of(steps);
  if (bytes.size() > max_size) return size;
  std::memcpy(data, bytes.data(), bytes.size());
  return bytes.size();
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace berth::fuzz;
  berth::set_assert_handler(print_assert);
  google::protobuf::SetLogHandler(nullptr);
  ServiceWorld world;
  for (const Step& step : steps_of({reinterpret_cast<const char*>(data), size}))
    live(world, step);
  world.check_invariants();
  world.check_replay();
  return 0;
}
