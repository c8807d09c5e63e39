// See load.h.
#include "tests/faults/load.h"

#include <chrono>

namespace berth::faults {

std::vector<std::string> wait_for_ends(const support::ServerProcess& server,
                                       const std::set<std::string>& ids,
                                       const std::vector<std::string>& tenants) {
  client::Client client = server.client();
  std::vector<std::string> unknown;
  for (const std::string& id : ids) {
    v1::GetTaskStatusRequest request;
    request.set_task_id(id);
    for (std::size_t tenant = 0;;) {
      request.set_user_id(tenants[tenant]);
      const auto status = client.task_status(request);
      if (status && status->state() >= v1::COMPLETED) break;
      if (status) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      } else if (++tenant == tenants.size()) {
        unknown.push_back(id + ": " + status.failure().message);
        break;
      }
    }
  }
  return unknown;
}

}  // namespace berth::faults
