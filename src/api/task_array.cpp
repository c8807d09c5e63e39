// See task_array.h.
#include "api/task_array.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>

namespace berth::api {
namespace {

constexpr std::uint32_t kIndexMax = 1'000'000'000;

std::optional<std::uint32_t> index_in(std::string_view text) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  if (!whole || number > kIndexMax) return std::nullopt;
  return number;
}

struct IndexRange {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  std::uint32_t step = 1;
};

// "5", "0-99" or "0-30:10".
std::optional<IndexRange> range_in(std::string_view text) {
  IndexRange range;
  const std::size_t colon = text.find(':');
  if (colon != std::string_view::npos) {
    const auto step = index_in(text.substr(colon + 1));
    if (!step || *step == 0) return std::nullopt;
    range.step = *step;
    text = text.substr(0, colon);
  }
  const std::size_t dash = text.find('-');
  if (dash == std::string_view::npos && colon != std::string_view::npos) return std::nullopt;
  const auto first = index_in(text.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : index_in(text.substr(dash + 1));
  if (!first || !last || *last < *first) return std::nullopt;
  range.first = *first;
  range.last = *last;
  return range;
}

// Ranges with commas between them, rising, and no more indices than `most`; or a sentence.
std::variant<std::vector<std::uint32_t>, std::string> indices_in(std::string_view text,
                                                                 std::size_t most) {
  std::vector<std::uint32_t> indices;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const std::string_view part = text.substr(at, comma - at);
    const auto range = range_in(part);
    if (!range) {
      return "\"" + std::string(part) +
             "\" is not a range of numbers up to a billion: write 0-99, 1,5,9 or 0-30:10";
    }
    if (!indices.empty() && range->first <= indices.back()) {
      return "\"" + std::string(part) + "\" does not rise: " + std::to_string(indices.back()) +
             " comes before it";
    }
    const std::uint64_t count = (std::uint64_t{range->last} - range->first) / range->step + 1;
    if (indices.size() + count > most) {
      return "there are " + std::to_string(indices.size() + count) +
             " tasks or more; the limit is " + std::to_string(most);
    }
    for (std::uint64_t i = 0; i < count; ++i)
      indices.push_back(range->first + static_cast<std::uint32_t>(i) * range->step);
    at = comma + 1;
  }
  return indices;
}

std::string member_id(const std::string& array, std::string_view index) {
  return array + "[" + std::string(index) + "]";
}

}  // namespace

bool is_array(const v1::TaskSpec& spec) {
  return spec.has_array() && spec.task_id() != member_id(spec.group(), spec.array().indices());
}

std::variant<std::vector<v1::TaskSpec>, std::vector<FieldFlaw>> tasks_of_array(
    const v1::TaskSpec& spec, std::string_view path, std::size_t most) {
  std::vector<FieldFlaw> flaws;
  const auto wrong = [&](std::string_view field, std::string why) {
    flaws.push_back({std::string(path) + std::string(field), std::move(why)});
  };
  if (spec.task_id().empty()) wrong("task_id", "is required: the id of the array");
  if (!spec.group().empty()) wrong("group", "an array is a group of its own, named by its task_id");
  const auto read = indices_in(spec.array().indices(), most);
  if (const auto* why = std::get_if<std::string>(&read)) wrong("array.indices", *why);
  if (!flaws.empty()) return flaws;
  std::vector<v1::TaskSpec> tasks;
  for (const std::uint32_t index : std::get<0>(read)) {
    const std::string text = std::to_string(index);
    v1::TaskSpec& task = tasks.emplace_back(spec);
    task.set_task_id(member_id(spec.task_id(), text));
    task.set_group(spec.task_id());
    task.mutable_array()->set_indices(text);
  }
  return tasks;
}

}  // namespace berth::api
