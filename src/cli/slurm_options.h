// The options of Slurm's sbatch as flags of `berth submit`: those that mean the same here. The rest
// is named, so that nobody believes it was heeded.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace berth::cli {

struct SlurmReading {
  std::vector<std::vector<std::string>> flags;  // each with its value, if it has one
  std::vector<std::string> ignored;             // as they were written
  std::vector<std::string> errors;              // what cannot be left out without harm
};

// The words behind #SBATCH.
SlurmReading read_slurm(std::span<const std::string> words);

}  // namespace berth::cli
