// See script.h. One function for each verb of the language.
#include "tests/scenarios/script.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include "tests/scenarios/options.h"
#include "tests/scenarios/specs.h"

namespace berth::scenario {
namespace {

using namespace core;  // the events and specs that lines stand for

class Reader {
 public:
  Reader(std::string path, const std::string& text) : path_(std::move(path)), text_(text) {}

  Script read() {
    std::istringstream in(text_);
    bool is_given = true;
    for (std::string line; std::getline(in, line);) {
      ++line_;
      if (is_given && line == kDivider) {
        is_given = false;
      } else if (is_given) {
        script_.given += line + "\n";
        read_line(line.substr(0, line.find('#') == 0 ? 0 : line.find(" # ")));
      } else {
        script_.expected.push_back(line);
      }
    }
    if (is_given) Words(place(), "").fail("expected a line `----` and the log after it");
    return std::move(script_);
  }

 private:
  using Handler = void (Reader::*)(Words&);
  struct Verb {
    const char* name;
    bool is_setup;  // may stand without a time, before the first line that has one
    Handler handler;
  };
  static const std::vector<Verb>& verbs();

  std::string place() const { return path_ + ":" + std::to_string(line_); }

  void read_line(const std::string& line) {
    Words words(place(), line);
    if (words.empty()) return;
    std::string word = words.take("a time or a verb");
    const auto at = read_duration(word);
    if (at) {
      is_timed_ = true;
      if (Time{at->ns} < now_) words.fail("expected a time not before the line above");
      now_ = Time{at->ns};
      word = words.take("a verb after the time");
    }
    std::string known;
    for (const Verb& verb : verbs()) {
      known += std::string(known.empty() ? "" : ", ") + verb.name;
      if (word != verb.name) continue;
      if (!at && (!verb.is_setup || is_timed_)) words.fail("expected a time before `" + word + "`");
      (this->*verb.handler)(words);
      words.finish();
      return;
    }
    words.fail("expected a time or one of " + known + ", got `" + word + "`");
  }

  void say(Deed deed) { script_.statements.push_back({line_, now_, std::move(deed)}); }

  template <class IdType>
  IdType known(Words& words, const NameTable& table, const std::string& noun,
               const std::string& name) const {
    const auto id = table.find(name);
    if (id) return IdType{static_cast<typename IdType::rep>(*id)};
    std::string names;
    for (const std::string& other : table.all())
      names += (names.empty() ? "" : ", ") + other;
    words.fail("expected the name of a " + noun + " (" + names + "), got `" + name + "`");
  }
  TaskNo task(Words& w) { return known<TaskNo>(w, script_.names.tasks, "task", w.take("a task")); }
  GpuId gpu(Words& w) { return known<GpuId>(w, script_.names.gpus, "gpu", w.take("a gpu")); }
  NodeId node(Words& w) { return known<NodeId>(w, script_.names.nodes, "node", w.take("a node")); }
  ModelId model(Words& w) {
    return known<ModelId>(w, script_.names.models, "model", w.take("a model"));
  }
  QueueId queue(Words& w) {
    return known<QueueId>(w, script_.names.queues, "queue", w.take("a queue"));
  }
  TenantId tenant(Words& w) {
    return known<TenantId>(w, script_.names.tenants, "tenant", w.take("a tenant"));
  }
  LeaseId lease(Words& w) {
    const auto id = read_integer(w.take("the number of a lease"));
    if (!id) w.fail("expected the number of a lease");
    return LeaseId{static_cast<std::uint64_t>(*id)};
  }

  // A line about a thing that exists changes what it names and keeps the rest.
  template <class Spec>
  Spec& spec_of(std::vector<Spec>& specs, NameTable& table, const std::string& name,
                std::uint64_t& id) {
    id = table.find_or_add(name);
    if (id >= specs.size()) specs.resize(id + 1);
    return specs[id];
  }

  void read_policy(Words& w) {
    read_fields(w, policy_);
    say(EventBody(SetPolicy{policy_}));
  }

  void read_node(Words& w) {
    std::uint64_t id = 0;
    NodeSpec& spec = spec_of(nodes_, script_.names.nodes, w.take("a name"), id);
    const auto rack_no = script_.names.racks.find_or_add(w.option("rack").value_or("rack"));
    spec.rack = RackId{static_cast<std::uint32_t>(rack_no)};
    read_fields(w, spec);
    say(EventBody(PutNode{NodeId{static_cast<std::uint32_t>(id)}, spec}));
  }

  WorkClassId class_named(const std::string& name) {
    return WorkClassId{static_cast<std::uint8_t>(script_.names.work_classes.find_or_add(name))};
  }

  // "decode:1.4,training:2"
  std::vector<core::ClassSpeed> speeds_in(Words& w, const std::string& text) {
    std::vector<core::ClassSpeed> speeds;
    for (const std::string& part : read_names(text)) {
      const std::size_t colon = std::min(part.find(':'), part.size());
      const auto speed = read_ratio(part.substr(std::min(colon + 1, part.size())));
      if (!speed) w.fail("speed_by_class expects pairs such as decode:1.4, got `" + text + "`");
      speeds.push_back({class_named(part.substr(0, colon)), *speed});
    }
    std::ranges::sort(speeds, {}, &core::ClassSpeed::work_class);
    return speeds;
  }

  void read_gpu(Words& w) {
    std::uint64_t id = 0;
    GpuSpec& spec = spec_of(gpus_, script_.names.gpus, w.take("a name"), id);
    const auto vram = read_vram(w.take("a size such as 40GB"));
    if (!vram) w.fail("expected a size such as 40GB");
    spec.vram = *vram;
    const auto node_no = script_.names.nodes.find_or_add(w.option("node").value_or("node"));
    const auto kind_no = script_.names.kinds.find_or_add(w.option("kind").value_or("kind"));
    spec.node = NodeId{static_cast<std::uint32_t>(node_no)};
    spec.kind = KindId{static_cast<std::uint32_t>(kind_no)};
    if (const auto island = w.option("island")) {
      const auto island_no = script_.names.islands.find_or_add(*island);
      spec.island = IslandId{static_cast<std::uint32_t>(island_no)};
    }
    if (const auto speeds = w.option("speed_by_class")) spec.class_speeds = speeds_in(w, *speeds);
    read_fields(w, spec);
    say(EventBody(PutGpu{GpuId{static_cast<std::uint32_t>(id)}, spec}));
  }

  void read_tenant(Words& w) {
    std::uint64_t id = 0;
    TenantSpec& spec = spec_of(tenants_, script_.names.tenants, w.take("a name"), id);
    if (const auto parent = w.option("parent")) {
      const auto known = script_.names.tenants.find(*parent);
      if (!known) w.fail("no tenant " + *parent + " above this line");
      spec.parent = TenantId{static_cast<std::uint32_t>(*known)};
    }
    read_fields(w, spec);
    say(EventBody(PutTenant{TenantId{static_cast<std::uint32_t>(id)}, spec}));
  }

  void read_model(Words& w) {
    const std::string name = w.take("a name");
    const bool is_new = !script_.names.models.find(name);
    std::uint64_t id = 0;
    ModelSpec& spec = spec_of(models_, script_.names.models, name, id);
    if (is_new) spec.keep_alive = Duration::forever();
    read_fields(w, spec);
    const ModelId no{static_cast<std::uint32_t>(id)};
    read_fields(w, script_.model_plans[no]);
    say(EventBody(PutModel{no, spec}));
  }

  void read_queue(Words& w) {
    std::uint64_t id = 0;
    QueueSpec& spec = spec_of(queues_, script_.names.queues, w.take("a name"), id);
    if (const auto name = w.option("model")) {
      spec.model = known<ModelId>(w, script_.names.models, "model", *name);
    }
    if (const auto name = w.option("class")) spec.work_class = class_named(*name);
    read_fields(w, spec);
    say(EventBody(PutQueue{QueueId{static_cast<std::uint32_t>(id)}, spec}));
  }

  TenantId tenant_of_submit(Words& w) {
    const auto name = w.option("by");
    if (name) return known<TenantId>(w, script_.names.tenants, "tenant", *name);
    if (script_.names.tenants.size() == 0) {
      Words implied(place(), "anyone");
      read_tenant(implied);
    }
    return TenantId{0};
  }

  TaskSpec read_task(Words& w, TaskPlan& plan) {
    TaskSpec spec;
    spec.queue = queue(w);
    spec.tenant = tenant_of_submit(w);
    read_fields(w, spec);
    if (const auto kinds = w.option("kinds")) {
      for (const std::string& kind : read_names(*kinds))
        spec.kinds |= KindMask{1} << known<KindId>(w, script_.names.kinds, "kind", kind).value;
    }
    if (const auto name = w.option("group")) {
      spec.group = GroupId{static_cast<std::uint32_t>(script_.names.groups.find_or_add(*name))};
    }
    if (const auto n = w.integer("at_once")) spec.at_once = static_cast<std::uint32_t>(*n);
    if (const auto name = w.option("after")) {
      for (const std::string& one : read_names(*name))
        after_.emplace_back(spec.depends_on.size(), one), spec.depends_on.emplace_back();
    }
    read_fields(w, plan);
    resolve_dependencies(w, spec);
    return spec;
  }

  // Tasks of one workflow may name one another, later ones too: all names exist by now.
  void resolve_dependencies(Words& w, TaskSpec& spec) {
    for (const auto& [index, name] : std::exchange(after_, {})) {
      Dependency& dependency = spec.depends_on[index];
      if (name.starts_with("signal:")) {
        dependency = {Dependency::Kind::signal, script_.names.signals.find_or_add(name.substr(7))};
      } else {
        dependency = {Dependency::Kind::task,
                      known<TaskNo>(w, script_.names.tasks, "task", name).value};
      }
    }
  }

  TaskNo name_task(Words& w, const std::string& name) {
    if (name.starts_with("#")) return known<TaskNo>(w, script_.names.tasks, "task", name);
    if (script_.names.tasks.find(name)) w.fail("expected a new name, `" + name + "` is a task");
    return TaskNo{script_.names.tasks.add(name)};
  }

  void read_submit(Words& w) {
    const std::string text = w.take("the name of the task");
    const std::vector<std::string> names = read_names(text);
    if (names.empty()) w.fail("expected names such as a, a,b or a1..a4, got `" + text + "`");
    TaskPlan plan;
    const TaskSpec spec = read_task(w, plan);
    for (const std::string& name : names) {
      const TaskNo no = name_task(w, name);
      script_.task_plans[no] = plan;
      say(EventBody(Submit{no, spec}));
    }
  }

  void read_workflow(Words& w) {
    SubmitWorkflow workflow;
    std::vector<Words> parts;
    while (!w.empty()) {
      parts.push_back(w.take_part());
      const TaskNo no = name_task(w, parts.back().take("the name of a task"));
      if (parts.size() == 1) workflow.first = no;
    }
    for (std::size_t i = 0; i < parts.size(); ++i) {
      TaskPlan& plan = script_.task_plans[TaskNo{workflow.first.value + i}];
      workflow.tasks.push_back(read_task(parts[i], plan));
      parts[i].finish();
    }
    say(EventBody(std::move(workflow)));
  }

  void read_resident(Words& w) {
    const ModelId m = model(w);
    say(EventBody(ModelLoaded{gpu(w), m, true, Duration{0}, LoadId::none()}));
  }
  void read_unload(Words& w) {
    const ModelId m = model(w);
    say(EventBody(ModelUnloaded{gpu(w), m, LoadId::none()}));
  }
  void read_pause(Words& w) { pause(w, true); }
  void read_resume(Words& w) { pause(w, false); }
  void pause(Words& w, bool paused) {
    const std::string noun = w.take("`queue` or `tenant`");
    if (noun == "queue") return say(EventBody(PauseQueue{queue(w), paused}));
    if (noun == "tenant") return say(EventBody(PauseTenant{tenant(w), paused}));
    w.fail("expected `queue` or `tenant`, got `" + noun + "`");
  }
  void read_flush(Words& w) { say(EventBody(Flush{w.empty() ? QueueId::none() : queue(w)})); }
  void read_signal(Words& w) {
    say(EventBody(ResolveSignal{
        SignalId{script_.names.signals.find_or_add(w.take("the name of a signal"))}}));
  }
  GroupId group(Words& w) {
    const std::string name = w.take("a group");
    return known<GroupId>(w, script_.names.groups, "group", name);
  }
  void read_cancel_group(Words& w) { say(EventBody(CancelGroup{group(w)})); }
  void read_utilisation(Words& w) {
    const GpuId id = gpu(w);
    const auto ratio = read_ratio(w.take("a number such as 0.6"));
    if (!ratio) w.fail("expected a number such as 0.6");
    say(EventBody(GpuUtilisation{id, *ratio}));
  }
  void read_fail(Words& w) {
    const TaskNo no = task(w);
    const std::string kind = w.take_if_any().value_or("error");
    say(EndTask{{no, false, read_failure(w, kind)}});
  }
  // A report as it stands, late, doubled or wrong.
  void read_report(Words& w) {
    const std::string kinds = "`start`, `end`, `task`, `loaded` or `unloaded`";
    const std::string what = w.take(kinds);
    if (what == "loaded" || what == "unloaded") return read_load_report(w, what == "loaded");
    const LeaseId id = lease(w);
    if (what == "start") return say(EventBody(LeaseStarted{id}));
    if (what == "end") return say(EventBody(LeaseEnded{id, {}}));
    if (what != "task") w.fail("expected " + kinds + ", got `" + what + "`");
    TaskOutcome outcome{task(w), true, Failure::error};
    const auto kind = w.take_if_any();
    if (kind) outcome = {outcome.task, false, read_failure(w, *kind)};
    say(EventBody(TaskEnded{id, outcome}));
  }
  void read_load_report(Words& w, bool is_loaded) {
    const auto id = read_integer(w.take("the number of a load"));
    if (!id) w.fail("expected the number of a load");
    const LoadId load{static_cast<std::uint64_t>(*id)};
    const ModelId m = model(w);
    if (is_loaded) return say(EventBody(ModelLoaded{gpu(w), m, true, Duration{0}, load}));
    say(EventBody(ModelUnloaded{gpu(w), m, load}));
  }
  void read_show(Words& w) {
    const std::string kinds = "`charges`, `tenant` or `group`";
    const std::string what = w.take(kinds);
    if (what == "tenant") return say(ShowTenant{tenant(w)});
    if (what == "group") return say(ShowGroup{group(w)});
    if (what != "charges") w.fail("expected " + kinds + ", got `" + what + "`");
    script_.shows_charges = true;
  }
  void read_cancel(Words& w) { say(EventBody(Cancel{task(w)})); }
  void read_hold(Words& w) { say(EventBody(Hold{task(w)})); }
  void read_hold_starts(Words&) { say(EventBody(HoldStarts{true})); }
  void read_release_starts(Words&) { say(EventBody(HoldStarts{false})); }
  void read_change(Words& w) {
    ChangeTask change{.task = task(w)};
    change.queue = queue(w);
    read_fields(w, change);
    say(EventBody(change));
  }
  void read_release(Words& w) { say(EventBody(Release{task(w)})); }
  void read_drain(Words& w) { drain(w, true); }
  void read_undrain(Words& w) { drain(w, false); }
  void drain(Words& w, bool draining) {
    const std::string name = w.take("a gpu, or `queue` and its name");
    if (name == "queue") return say(EventBody(DrainQueue{queue(w), draining}));
    say(EventBody(DrainGpu{known<GpuId>(w, script_.names.gpus, "gpu", name), draining}));
  }
  void read_day(Words&) { say(EventBody(DayBoundary{})); }
  void read_lose(Words& w) { say(EventBody(GpuLost{gpu(w)})); }
  void read_return(Words& w) { say(EventBody(GpuReturned{gpu(w)})); }
  void read_lose_node(Words& w) { say(EventBody(NodeLost{node(w)})); }
  void read_return_node(Words& w) { say(EventBody(NodeReturned{node(w)})); }
  void read_end(Words& w) { say(EndTask{{task(w), true, Failure::error}}); }
  void read_explain(Words& w) { say(Explain{task(w)}); }
  void read_stop(Words&) { say(Stop{}); }

  std::string path_;
  const std::string& text_;
  int line_ = 0;
  bool is_timed_ = false;
  Time now_{0};
  Script script_;
  PolicySpec policy_;
  std::vector<TenantSpec> tenants_;
  std::vector<QueueSpec> queues_;
  std::vector<ModelSpec> models_;
  std::vector<NodeSpec> nodes_;
  std::vector<GpuSpec> gpus_;
  std::vector<std::pair<std::size_t, std::string>> after_;
};

const std::vector<Reader::Verb>& Reader::verbs() {
  static const std::vector<Verb> kVerbs = {
      {"policy", true, &Reader::read_policy},
      {"node", true, &Reader::read_node},
      {"gpu", true, &Reader::read_gpu},
      {"tenant", true, &Reader::read_tenant},
      {"model", true, &Reader::read_model},
      {"queue", true, &Reader::read_queue},
      {"resident", true, &Reader::read_resident},
      {"show", true, &Reader::read_show},
      {"submit", false, &Reader::read_submit},
      {"workflow", false, &Reader::read_workflow},
      {"cancel", false, &Reader::read_cancel},
      {"cancel_group", false, &Reader::read_cancel_group},
      {"hold", false, &Reader::read_hold},
      {"release", false, &Reader::read_release},
      {"change", false, &Reader::read_change},
      {"hold_starts", false, &Reader::read_hold_starts},
      {"release_starts", false, &Reader::read_release_starts},
      {"signal", false, &Reader::read_signal},
      {"pause", false, &Reader::read_pause},
      {"resume", false, &Reader::read_resume},
      {"flush", false, &Reader::read_flush},
      {"drain", false, &Reader::read_drain},
      {"undrain", false, &Reader::read_undrain},
      {"day", false, &Reader::read_day},
      {"end", false, &Reader::read_end},
      {"fail", false, &Reader::read_fail},
      {"report", false, &Reader::read_report},
      {"unload", false, &Reader::read_unload},
      {"lose", false, &Reader::read_lose},
      {"return", false, &Reader::read_return},
      {"lose_node", false, &Reader::read_lose_node},
      {"return_node", false, &Reader::read_return_node},
      {"utilisation", false, &Reader::read_utilisation},
      {"explain", false, &Reader::read_explain},
      {"stop", false, &Reader::read_stop},
  };
  return kVerbs;
}

}  // namespace

Script read_script(const std::string& path, const std::string& text) {
  return Reader(path, text).read();
}

}  // namespace berth::scenario
