// See segment_list.h.
#include "store/segment_list.h"

#include <array>
#include <fstream>
#include <span>

namespace berth::store {

Result<std::vector<SegmentHeader>> segment_headers(const std::filesystem::path& folder) {
  const auto numbers = segment_numbers(folder);
  if (!numbers) return numbers.error();
  std::vector<SegmentHeader> headers;
  for (const std::uint64_t number : *numbers) {
    std::array<char, kSegmentHeaderSize> bytes{};
    std::ifstream file(segment_path(folder, number), std::ios::binary);
    if (!file.read(bytes.data(), bytes.size())) break;
    const ParsedSegment parsed = parse_segment_header(std::as_bytes(std::span(bytes)), number);
    if (parsed.status != ParsedSegment::Status::intact) break;
    headers.push_back(parsed.header);
  }
  return headers;
}

}  // namespace berth::store
