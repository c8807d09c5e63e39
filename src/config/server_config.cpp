// See server_config.h.
#include "config/server_config.h"

namespace berth::config {

std::vector<std::string> log_level_names() { return {"debug", "info", "warning", "error"}; }
std::vector<std::string> log_format_names() { return {"text", "json"}; }
std::vector<std::string> executor_names() { return {"simulated", "process"}; }
std::vector<std::string> ranks_names() { return {"gpu", "node"}; }
std::vector<std::string> gpu_source_names() { return {"auto", "simulated", "nvidia-smi"}; }

}  // namespace berth::config
