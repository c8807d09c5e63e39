// See hwloc_document.h. expat reads the XML.
#include "config/hwloc_document.h"

#include <charconv>
#include <cstring>
#include <map>
#include <memory>
#include <utility>

#include <expat.h>

namespace berth::config {
namespace {

constexpr std::size_t kLargest = std::size_t{64} << 20U;
constexpr std::size_t kObjectsMax = 1'000'000;
constexpr std::size_t kDepthMax = 200;  // a machine has about ten levels

using Attributes = std::map<std::string, std::string, std::less<>>;

std::uint64_t number(const Attributes& attributes, std::string_view name) {
  const auto found = attributes.find(name);
  std::uint64_t value = 0;
  if (found == attributes.end()) return 0;
  const std::string& text = found->second;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::string text(const Attributes& attributes, std::string_view name) {
  const auto found = attributes.find(name);
  return found == attributes.end() ? "" : found->second;
}

class Parser {
 public:
  Parser() : expat_(XML_ParserCreate(nullptr)) {
    XML_SetUserData(expat_.get(), this);
    XML_SetElementHandler(
        expat_.get(),
        [](void* self, const char* name, const char** attributes) {
          static_cast<Parser*>(self)->begin(name, attributes);
        },
        [](void* self, const char* name) { static_cast<Parser*>(self)->end(name); });
    XML_SetCharacterDataHandler(expat_.get(), [](void* self, const char* text, int size) {
      static_cast<Parser*>(self)->take(std::string_view(text, static_cast<std::size_t>(size)));
    });
    // hwloc writes none; they are how a small file becomes a large one.
    XML_SetEntityDeclHandler(expat_.get(), [](void* self, const char*, int, const char*, int,
                                              const char*, const char*, const char*, const char*) {
      static_cast<Parser*>(self)->fail("it declares entities, which hwloc never does");
    });
  }

  Result<HwlocDocument> parse(std::string_view xml) {
    if (xml.size() > kLargest) return Error{"it is larger than 64 MiB"};
    const XML_Status status =
        XML_Parse(expat_.get(), xml.data(), static_cast<int>(xml.size()), XML_TRUE);
    if (flaw_.empty() && status != XML_STATUS_OK) {
      fail(XML_ErrorString(XML_GetErrorCode(expat_.get())));
    }
    if (!flaw_.empty()) return Error{flaw_};
    return std::move(document_);
  }

 private:
  struct Free {
    void operator()(XML_Parser parser) const { XML_ParserFree(parser); }
  };

  std::uint32_t line() const {
    return static_cast<std::uint32_t>(XML_GetCurrentLineNumber(expat_.get()));
  }

  void fail(const std::string& why) {
    if (!flaw_.empty()) return;
    flaw_ = "line " + std::to_string(line()) + ": " + why;
    XML_StopParser(expat_.get(), XML_FALSE);
  }

  void begin(std::string_view element, const char** pairs) {
    if (!flaw_.empty()) return;
    if (++depth_ > kDepthMax) return fail("it is nested deeper than any machine");
    Attributes attributes;
    for (; *pairs != nullptr; pairs += 2)
      attributes.emplace(pairs[0], pairs[1]);
    if (depth_ == 1) return begin_root(element, attributes);
    if (element == "object") return begin_object(attributes);
    if (element == "info" && !open_.empty()) {
      document_.objects[open_.back()].infos.push_back(
          {text(attributes, "name"), text(attributes, "value")});
    }
    if (element == "distances2" || element == "distances2hetero") {
      document_.distances.push_back(
          {text(attributes, "name"), line(), number(attributes, "nbobjs"), "", ""});
      in_distances_ = true;
    }
    content_ = !in_distances_           ? nullptr
               : element == "indexes"   ? &document_.distances.back().indexes
               : element == "u64values" ? &document_.distances.back().values
                                        : nullptr;
  }

  void begin_root(std::string_view element, const Attributes& attributes) {
    if (element != "topology") {
      return fail("expected the XML of hwloc, which begins with <topology>, found <" +
                  std::string(element) + ">");
    }
    const std::string version = text(attributes, "version");
    if (version.starts_with("2.")) return;
    fail(version.empty() ? "this is the XML of hwloc 1; write it anew with lstopo of hwloc 2"
                         : "expected version 2 of hwloc's XML, found " + version.substr(0, 20) +
                               "; write it anew with lstopo of hwloc 2");
  }

  void begin_object(const Attributes& attributes) {
    if (document_.objects.size() >= kObjectsMax) return fail("it has more than a million objects");
    HwlocObject& object = document_.objects.emplace_back();
    object.parent = open_.empty() ? kNoParent : open_.back();
    object.type = text(attributes, "type");
    object.name = text(attributes, "name");
    object.subtype = text(attributes, "subtype");
    object.pci_busid = text(attributes, "pci_busid");
    object.pci_type = text(attributes, "pci_type");
    object.bridge_type = text(attributes, "bridge_type");
    object.gp_index = number(attributes, "gp_index");
    object.local_memory = number(attributes, "local_memory");
    open_.push_back(document_.objects.size() - 1);
  }

  void end(std::string_view element) {
    if (!flaw_.empty()) return;
    --depth_;
    content_ = nullptr;
    if (element == "object") open_.pop_back();
    if (element == "distances2" || element == "distances2hetero") in_distances_ = false;
  }

  void take(std::string_view characters) {
    if (flaw_.empty() && content_ != nullptr) content_->append(characters);
  }

  std::unique_ptr<std::remove_pointer_t<XML_Parser>, Free> expat_;
  HwlocDocument document_;
  std::vector<std::size_t> open_;  // objects, the outermost first
  std::size_t depth_ = 0;
  bool in_distances_ = false;
  std::string* content_ = nullptr;  // where characters go
  std::string flaw_;
};

}  // namespace

Result<HwlocDocument> parse_hwloc(std::string_view xml) { return Parser().parse(xml); }

}  // namespace berth::config
