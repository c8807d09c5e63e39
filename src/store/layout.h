// Where things stand in a data folder. One place, so that server, fsck and backup agree.
#pragma once

#include <filesystem>

namespace berth::store {

inline std::filesystem::path journal_folder(const std::filesystem::path& data) {
  return data / "journal";
}
inline std::filesystem::path snapshot_folder(const std::filesystem::path& data) {
  return data / "snapshots";
}
inline std::filesystem::path history_path(const std::filesystem::path& data) {
  return data / "history.sqlite";
}
inline std::filesystem::path agent_folder(const std::filesystem::path& data) {
  return data / "agent";
}
inline std::filesystem::path tokens_path(const std::filesystem::path& data) {
  return data / "tokens";
}

}  // namespace berth::store
