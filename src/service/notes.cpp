// The bytes of notes. Each struct lists its fields once, in `fields`, for both directions.
#include "service/notes.h"

#include <type_traits>

#include "base/assert.h"

namespace berth::service {
namespace {

using journal::ByteView;
using journal::Reader;
using journal::Writer;

constexpr std::size_t kLongestText = 64U << 20;

void put(Writer& out, const std::string& text) {
  out.u32(static_cast<std::uint32_t>(text.size()));
  out.bytes(std::as_bytes(std::span(text)));
}
void get(Reader& in, std::string& text) {
  const std::uint32_t size = in.u32();
  if (size > kLongestText) return in.fail("a text of at most 64 MiB");
  const ByteView bytes = in.bytes(size);
  text.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

template <class T>
concept Number = std::is_integral_v<T>;

void put(Writer& out, bool value) { out.u8(value ? 1 : 0); }
void get(Reader& in, bool& value) {
  const std::uint8_t byte = in.u8();
  if (byte > 1) in.fail("0 or 1");
  value = byte == 1;
}
template <Number T>
void put(Writer& out, T value) {
  out.put(value);
}
template <Number T>
void get(Reader& in, T& value) {
  value = in.get<T>("a number");
}
template <class Tag, class Rep>
void put(Writer& out, Id<Tag, Rep> id) {
  out.put(id.value);
}
template <class Tag, class Rep>
void get(Reader& in, Id<Tag, Rep>& id) {
  get(in, id.value);
}
void put(Writer& out, Time time) { out.i64(time.ns); }
void get(Reader& in, Time& time) { time.ns = in.i64(); }
void put(Writer& out, Duration time) { out.i64(time.ns); }
void get(Reader& in, Duration& time) { time.ns = in.i64(); }
void put(Writer& out, Mib amount) { out.i64(amount.value); }
void get(Reader& in, Mib& amount) { amount.value = in.i64(); }
void put(Writer& out, Milli amount) { out.i64(amount.value); }
void get(Reader& in, Milli& amount) { amount.value = in.i64(); }

template <class T>
void put(Writer& out, const std::optional<T>& value) {
  put(out, value.has_value());
  if (value) put(out, *value);
}
template <class T>
void get(Reader& in, std::optional<T>& value) {
  bool has_value = false;
  get(in, has_value);
  if (has_value) get(in, value.emplace());
}

void put(Writer& out, PartNamed::Noun noun) { out.u8(static_cast<std::uint8_t>(noun)); }
void get(Reader& in, PartNamed::Noun& noun) {
  const std::uint8_t byte = in.u8();
  if (byte > static_cast<std::uint8_t>(PartNamed::Noun::work_class)) {
    in.fail("a part of the hardware, or a class of work");
  }
  noun = static_cast<PartNamed::Noun>(byte);
}

void put(Writer& out, CommandsAllowed::Noun noun) { out.u8(static_cast<std::uint8_t>(noun)); }
void get(Reader& in, CommandsAllowed::Noun& noun) {
  const std::uint8_t byte = in.u8();
  if (byte > static_cast<std::uint8_t>(CommandsAllowed::Noun::queue)) in.fail("a tenant or queue");
  noun = static_cast<CommandsAllowed::Noun>(byte);
}

void put(Writer& out, NameForgotten::Noun noun) { out.u8(static_cast<std::uint8_t>(noun)); }
void get(Reader& in, NameForgotten::Noun& noun) {
  const std::uint8_t byte = in.u8();
  if (byte > static_cast<std::uint8_t>(NameForgotten::Noun::array)) {
    in.fail("a group, a signal or an array");
  }
  noun = static_cast<NameForgotten::Noun>(byte);
}

void put(Writer& out, Section section) { out.u8(static_cast<std::uint8_t>(section)); }
void get(Reader& in, Section& section) {
  const std::uint8_t byte = in.u8();
  if (byte > static_cast<std::uint8_t>(Section::models)) in.fail("a section");
  section = static_cast<Section>(byte);
}

using Labels = std::vector<std::pair<std::string, std::string>>;
void put(Writer& out, const Labels& labels) {
  out.u32(static_cast<std::uint32_t>(labels.size()));
  for (const auto& [key, value] : labels) {
    put(out, key);
    put(out, value);
  }
}
void get(Reader& in, Labels& labels) {
  const std::uint32_t count = in.u32();
  for (std::uint32_t i = 0; i < count && in.ok(); ++i) {
    std::pair<std::string, std::string> label;
    get(in, label.first);
    get(in, label.second);
    labels.push_back(std::move(label));
  }
}

template <class Visit, class N>
void fields(Visit&& visit, N& n) {
  using T = std::remove_const_t<N>;
  if constexpr (std::is_same_v<T, TenantNamed>) {
    visit(n.tenant, n.name, n.tier);
  } else if constexpr (std::is_same_v<T, QueueNamed>) {
    visit(n.queue, n.name);
  } else if constexpr (std::is_same_v<T, ModelNamed>) {
    visit(n.model, n.name);
  } else if constexpr (std::is_same_v<T, GpuNamed>) {
    visit(n.gpu, n.uuid, n.name, n.kind, n.node, n.simulated);
  } else if constexpr (std::is_same_v<T, GroupNamed>) {
    visit(n.group, n.tenant, n.name);
  } else if constexpr (std::is_same_v<T, SignalNamed>) {
    visit(n.signal, n.tenant, n.name);
  } else if constexpr (std::is_same_v<T, AttemptResult>) {
    visit(n.task, n.lease, n.result);
  } else if constexpr (std::is_same_v<T, EpochBegan>) {
    visit(n.epoch, n.at, n.wall_unix_ns, n.version);
  } else if constexpr (std::is_same_v<T, PartNamed>) {
    visit(n.noun, n.number, n.name);
  } else if constexpr (std::is_same_v<T, NodeNamed>) {
    visit(n.node, n.name, n.agent, n.address);
  } else if constexpr (std::is_same_v<T, ClockMapped>) {
    visit(n.boot, n.boot_ns, n.at, n.ahead);
  } else if constexpr (std::is_same_v<T, CommandsAllowed>) {
    visit(n.noun, n.number, n.allowed);
  } else if constexpr (std::is_same_v<T, NameForgotten>) {
    visit(n.noun, n.tenant, n.name);
  } else if constexpr (std::is_same_v<T, QueueRuns>) {
    visit(n.queue, n.executor, n.ranks_by_node);
  } else if constexpr (std::is_same_v<T, SettingPut>) {
    visit(n.section, n.name, n.key, n.value, n.wall_unix_ns);
  } else if constexpr (std::is_same_v<T, SettingsReverted>) {
    visit(n.section, n.name);
  } else if constexpr (std::is_same_v<T, Removed>) {
    visit(n.section, n.number, n.removed);
  } else if constexpr (std::is_same_v<T, PutsKnown>) {
    visit();
  } else if constexpr (std::is_same_v<T, AttemptEnded>) {
    visit(n.task, n.lease, n.at);
  } else if constexpr (std::is_same_v<T, ArrayNamed>) {
    visit(n.tenant, n.name, n.first, n.count, n.indices);
  } else if constexpr (std::is_same_v<T, QueueDefaults>) {
    visit(n.queue, n.defaults.share, n.defaults.tolerated_wait, n.defaults.run_limit,
          n.defaults.max_run_limit);
  } else {
    // A card, but for its spec.
    visit(n.task, n.tenant, n.queue, n.group, n.id, n.request_id, n.digest, n.group_name, n.labels,
          n.tier, n.priority, n.gpus, n.share, n.vram, n.submitted, n.deadline, n.run_limit,
          n.result_ttl, n.workflow, n.begins_waiting);
  }
}

template <class N>
void write(Writer& out, const N& note) {
  fields([&](const auto&... field) { (put(out, field), ...); }, note);
}
template <class N>
void read(Reader& in, N& note) {
  fields([&](auto&... field) { (get(in, field), ...); }, note);
}

template <class N>
Note read_plain(Reader& in) {
  N note;
  read(in, note);
  return note;
}

// The spec is all that is left of the note.
CardPtr read_card(Reader& in, store::BytesAt at) {
  auto card = std::make_shared<TaskCard>();
  read(in, *card);
  const std::size_t offset = in.offset();
  const ByteView spec = in.bytes(in.remaining());
  if (spec.size() <= kInlineSpec) {
    card->spec.assign(reinterpret_cast<const char*>(spec.data()), spec.size());
  } else {
    card->spec_at = {at.segment, at.offset + offset, static_cast<std::uint32_t>(spec.size())};
  }
  return card;
}

Note read_carried(Reader& in, store::BytesAt at) {
  SpecCarried carried;
  get(in, carried.task);
  const std::size_t offset = in.offset();
  const ByteView spec = in.bytes(in.remaining());
  carried.at = {at.segment, at.offset + offset, static_cast<std::uint32_t>(spec.size())};
  return carried;
}

Note read_body(Reader& in, std::uint8_t tag, store::BytesAt at) {
  switch (tag) {
    case 1:
      return read_plain<TenantNamed>(in);
    case 2:
      return read_plain<QueueNamed>(in);
    case 3:
      return read_plain<ModelNamed>(in);
    case 4:
      return read_plain<GpuNamed>(in);
    case 5:
      return read_plain<GroupNamed>(in);
    case 6:
      return read_plain<SignalNamed>(in);
    case 7:
      return TaskDescribed{read_card(in, at)};
    case 8:
      return read_plain<AttemptResult>(in);
    case 9:
      return read_plain<EpochBegan>(in);
    case 10:
      return read_plain<PartNamed>(in);
    case 11:
      return read_plain<NodeNamed>(in);
    case 12:
      return read_plain<ClockMapped>(in);
    case 13:
      return read_plain<CommandsAllowed>(in);
    case 14:
      return read_carried(in, at);
    case 15:
      return read_plain<NameForgotten>(in);
    case 16:
      return read_plain<QueueRuns>(in);
    case 17:
      return read_plain<SettingPut>(in);
    case 18:
      return read_plain<SettingsReverted>(in);
    case 19:
      return read_plain<Removed>(in);
    case 20:
      return read_plain<PutsKnown>(in);
    case 21:
      return read_plain<QueueDefaults>(in);
    case 22:
      return TaskRedescribed{read_card(in, at)};
    case 23:
      return read_plain<AttemptEnded>(in);
    case 24:
      return read_plain<ArrayNamed>(in);
    default:
      in.fail_at(0, "the tag of a note");
      return {};
  }
}

}  // namespace

void encode_note(Writer& out, const Note& note) {
  out.u8(static_cast<std::uint8_t>(note.index() + 1));
  std::visit(
      [&](const auto& n) {
        using N = std::decay_t<decltype(n)>;
        if constexpr (std::is_same_v<N, TaskDescribed> || std::is_same_v<N, TaskRedescribed>) {
          write(out, *n.card);
          out.bytes(std::as_bytes(std::span(n.card->spec)));
        } else if constexpr (std::is_same_v<N, SpecCarried>) {
          put(out, n.task);
          out.bytes(std::as_bytes(std::span(n.spec)));
        } else {
          write(out, n);
        }
      },
      note);
}

std::optional<Note> decode_note(ByteView bytes, store::BytesAt at, journal::DecodeError* error) {
  Reader in(bytes);
  Note note = read_body(in, in.u8(), at);
  if (in.ok() && !in.at_end()) in.fail("the end of the note");
  if (in.ok()) return note;
  if (error != nullptr) *error = in.error();
  return std::nullopt;
}

void keep_spec_on_disk(TaskCard& card, store::BytesAt note) {
  const auto size = static_cast<std::uint32_t>(card.spec.size());
  if (size <= kInlineSpec) return;
  card.spec_at = {note.segment, note.offset + note.size - size, size};
  card.spec = std::string();
}

void keep_spec_on_disk(SpecCarried& carried, store::BytesAt note) {
  const auto size = static_cast<std::uint32_t>(carried.spec.size());
  carried.at = {note.segment, note.offset + note.size - size, size};
  carried.spec = std::string();
}

void encode_card(Writer& out, const TaskCard& card) {
  write(out, card);
  put(out, card.spec);
  out.u64(card.spec_at.segment);
  out.u64(card.spec_at.offset);
  out.u32(card.spec_at.size);
}

CardPtr decode_card(Reader& in) {
  auto card = std::make_shared<TaskCard>();
  read(in, *card);
  get(in, card->spec);
  card->spec_at.segment = in.u64();
  card->spec_at.offset = in.u64();
  card->spec_at.size = in.u32();
  return card;
}

}  // namespace berth::service
