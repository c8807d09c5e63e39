// The limits that the guide and the .proto files name are those of the server.
#include "api/limits.h"

#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "api/body_room.h"
#include "api/guests.h"
#include "api/http_server.h"
#include "api/streams.h"
#include "base/names.h"
#include "base/units.h"
#include "service/commands.h"

namespace berth::api::limits_test {
namespace {

std::string words_of(const std::string& file) {
  std::ifstream in(std::string(BERTH_SOURCE_DIR) + "/" + file);
  std::ostringstream text;
  text << in.rdbuf();
  std::string words = text.str();
  std::ranges::replace(words, '\n', ' ');
  return words;
}

// 1000: "1,000".
std::string number(std::uint64_t value) {
  std::string text = std::to_string(value);
  for (std::size_t at = text.size(); at > 3; at -= 3)
    text.insert(at - 3, ",");
  return text;
}
std::string kibibytes(std::uint64_t bytes) { return std::to_string(bytes >> 10) + " KiB"; }
std::string mebibytes(std::uint64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

TEST(Limits, AreThoseOfTheGuide) {
  const SpecLimits spec;
  const GuestLimits guests;
  const BodyLimits bodies;
  const std::string guide = words_of("docs/guide/api.md");
  const std::string max_message =
      "`limits.max_message`, " + mebibytes(static_cast<std::uint64_t>(kConfigurable.max_message));
  const std::string sentences[] = {
      "| payload of a task | `limits.max_payload`, " + mebibytes(spec.payload_bytes) + " |",
      "| argv, env and workdir together | " + kibibytes(spec.command_bytes) + " |",
      "| labels of a task; value | " + number(spec.labels) + "; " + number(kLabelValueMax) +
          " bytes |",
      "| depends_on | " + number(spec.depends_on) + " |",
      "| a name or an id | " + number(kNameMax) + " printable ASCII characters |",
      "| tasks of a workflow or an array | " + number(kWorkflowMax) + " |",
      "| dependencies of one submit, where an array counts as all its tasks | " +
          number(service::kDependenciesMax) + " |",
      "| priority | " + std::to_string(kPriorityMin) + " to " + std::to_string(kPriorityMax) + " |",
      "| what streams of events and output may hold | " + kibibytes(kStreamBytes) + " each, " +
          mebibytes(static_cast<std::uint64_t>(kConfigurable.max_stream_memory)) + " together",
      "| output of a task on its way to a reader | " + kibibytes(kStreamPieceBytes) + ",",
      "| HTTP bodies of over " + kibibytes(kSmallBodyBytes) + " being read",
      "| days of GetUsage | " + number(kUsageDaysMax) + " |",
      "| a gRPC message; metadata | " + max_message + " (RESOURCE_EXHAUSTED); " +
          kibibytes(kGrpcMetadataBytes) + " |",
      "| calls at once on a gRPC connection | " + number(kGrpcCallsAtOnce) + " |",
      "| tasks of a SubmitTasks stream without answer | " + number(kSubmitOutstanding),
      "| HTTP header; body | " + kibibytes(kHttpHeaderBytes) + " and " + number(kHttpFields) +
          " fields",
      "| HTTP connections of one address | " + number(guests.per_address),
      "| TLS handshakes (HTTP); of one address | " + number(guests.greetings) + "; " +
          number(guests.greetings_per_address),
      mebibytes(bodies.all) + " together, " + mebibytes(bodies.per_sender) + " of one tenant",
      "`page_size` defaults to " + std::to_string(kPageDefault) + " and is at most " +
          std::to_string(kPageMax),
      "(1 to " + std::to_string(kNameMax) + " printable ASCII characters",
  };
  for (const std::string& sentence : sentences)
    EXPECT_NE(guide.find(sentence), std::string::npos) << "docs/guide/api.md lacks: " << sentence;
}

TEST(Limits, OfArraysAreThoseOfTheShellsGuide) {
  const std::string guide = words_of("docs/guide/cli.md");
  const std::string sentences[] = {
      "An array has at most " + number(kWorkflowMax) + " tasks",
      "at most " + number(service::kDependenciesMax) + " dependencies",
  };
  for (const std::string& sentence : sentences)
    EXPECT_NE(guide.find(sentence), std::string::npos) << "docs/guide/cli.md lacks: " << sentence;
}

TEST(Limits, AreThoseOfTheProtoFiles) {
  const std::string proto = words_of("proto/berth/v1/scheduler.proto");
  EXPECT_NE(proto.find("default " + std::to_string(kPageDefault) + ", at most " +
                       std::to_string(kPageMax)),
            std::string::npos);
  const std::string priorities =
      std::to_string(kPriorityMin) + " to " + std::to_string(kPriorityMax) + ", higher first";
  EXPECT_NE(proto.find(priorities), std::string::npos);
  EXPECT_NE(words_of("proto/berth/v1/task.proto").find(priorities), std::string::npos);
  EXPECT_NE(proto.find("int32 days = 2;                  // default " + std::to_string(kUsageDays)),
            std::string::npos);
  EXPECT_NE(
      words_of("proto/berth/v1/task.proto").find("at most " + std::to_string(SpecLimits().labels)),
      std::string::npos);
}

TEST(Limits, OfADoorAreThoseThatAConfigurationHasByDefault) {
  const HttpLimits http;
  EXPECT_EQ(http.body_bytes, static_cast<std::uint64_t>(kConfigurable.max_message));
  EXPECT_EQ(http.header_time, std::chrono::seconds(5));
  EXPECT_EQ(http.body_time, std::chrono::seconds(30));
  EXPECT_EQ(StreamLimits().streams, kConfigurable.max_streams);
}

}  // namespace
}  // namespace berth::api::limits_test
