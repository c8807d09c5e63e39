// See load.h.
#include "tests/faults/load.h"

#include <chrono>

namespace berth::faults {

std::vector<std::string> wait_for_ends(const support::ServerProcess& server,
                                       const std::set<std::string>& ids) {
  client::Client client = server.client();
  std::vector<std::string> unknown;
  for (const std::string& id : ids) {
    v1::GetTaskStatusRequest request;
    request.set_task_id(id);
    while (true) {
      const auto status = client.task_status(request);
      if (!status) {
        unknown.push_back(id + ": " + status.failure().message);
        break;
      }
      if (status->state() >= v1::COMPLETED) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
  return unknown;
}

}  // namespace berth::faults
