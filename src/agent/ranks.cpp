// See ranks.h.
#include "agent/ranks.h"

#include <map>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/files.h"

namespace berth::agent {
namespace {

using berth::v1::Rank;

// What the ranks of one node share.
struct NodeRanks {
  std::uint32_t count = 0;
  std::string devices;
};

std::string joined(const google::protobuf::RepeatedPtrField<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    text += (text.empty() ? "" : ",") + name;
  }
  return text;
}

std::string entry(const char* name, std::uint32_t value) {
  return std::string(name) + "=" + std::to_string(value);
}

}  // namespace

std::vector<RankIntent> ranks_of(const berth::v1::Gang& gang, RankRule rule, std::uint32_t port,
                                 const std::function<std::string(const std::string&)>& device_of) {
  std::map<std::uint32_t, NodeRanks> nodes;
  for (const Rank& rank : gang.ranks()) {
    NodeRanks& node = nodes[rank.node_rank()];
    ++node.count;
    node.devices += (node.devices.empty() ? "" : ",") + device_of(rank.gpu());
  }
  const bool by_node = rule == RankRule::by_node;
  const auto hosts = static_cast<std::uint32_t>(gang.hosts_size());
  std::vector<RankIntent> ranks;
  for (const Rank& rank : gang.ranks()) {
    if (by_node && rank.local_rank() != 0) continue;
    const NodeRanks& node = nodes[rank.node_rank()];
    RankIntent& made = ranks.emplace_back();
    made.number = by_node ? rank.node_rank() : rank.rank();
    made.environment = {entry("RANK", made.number),
                        entry("LOCAL_RANK", rank.local_rank()),
                        entry("NODE_RANK", rank.node_rank()),
                        entry("WORLD_SIZE", by_node ? hosts : gang.size()),
                        entry("LOCAL_WORLD_SIZE", by_node ? 1 : node.count),
                        entry("MASTER_PORT", port),
                        "MASTER_ADDR=" + gang.master_address(),
                        "BERTH_HOSTS=" + joined(gang.hosts()),
                        "CUDA_VISIBLE_DEVICES=" + node.devices};
    if (rank.node_rank() < hosts) {
      made.environment.push_back("BERTH_NODE=" + gang.hosts(static_cast<int>(rank.node_rank())));
    }
  }
  return ranks;
}

// The kernel names one. Whoever is faster than rank 0 may take it: then the gang fails, as with all
// who choose a port before they use it.
std::uint32_t find_free_port() {
  const Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof address;
  if (!socket || ::bind(socket.get(), any, size) != 0) return 0;
  if (::getsockname(socket.get(), any, &size) != 0) return 0;
  return ntohs(address.sin_port);
}

}  // namespace berth::agent
