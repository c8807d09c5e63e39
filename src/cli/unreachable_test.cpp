// What gRPC says of servers that cannot be reached, and what people are told.
#include "cli/unreachable.h"

#include <gtest/gtest.h>

namespace berth::cli::unreachable_test {
namespace {

client::Failure unavailable(const std::string& last_error) {
  client::Failure failure;
  failure.code = grpc::StatusCode::UNAVAILABLE;
  failure.message = "failed to connect to all addresses; last error: " + last_error;
  return failure;
}

std::string why(const client::Failure& failure, const Approach& approach = {"host:1"}) {
  const auto found = unreachable(failure, approach);
  return found ? found->why + " / " + found->advice : "";
}

TEST(Unreachable, NobodyListens) {
  EXPECT_EQ(why(unavailable("UNKNOWN: ipv4:127.0.0.1:1: Failed to connect to remote host: "
                            "Connection refused")),
            "no server answers at host:1 / Start a server with 'berth serve', or name another "
            "with --server or BERTH_SERVER.");
}

TEST(Unreachable, TlsOnOneSideOnly) {
  EXPECT_EQ(why(unavailable("UNKNOWN: ipv4:127.0.0.1:1: Ssl handshake failed: SSL_ERROR_SSL: "
                            "error:0A00010B:SSL routines::wrong version number")),
            "the server at host:1 does not use TLS / Leave out --ca.");
  EXPECT_EQ(why(unavailable("UNAVAILABLE: ipv4:127.0.0.1:1: Socket closed")),
            "the server at host:1 closed the connection at once / It may use TLS: name its "
            "authority with --ca or BERTH_CA.");
}

TEST(Unreachable, CertificatesThatAreNotTrusted) {
  EXPECT_EQ(why(unavailable("UNKNOWN: ipv4:127.0.0.1:1: Ssl handshake failed: SSL_ERROR_SSL: "
                            "error:0A000086:SSL routines::certificate verify failed")),
            "the certificates to trust do not vouch for the server at host:1 / See --ca: it names "
            "those of the server's authority.");
  const client::Failure closed = unavailable("UNAVAILABLE: ipv4:127.0.0.1:1: Socket closed");
  EXPECT_EQ(why(closed, {"host:1", true}),
            "the server at host:1 closed the connection at once / It may ask for a certificate: "
            "give --cert and --key, or BERTH_CERT and BERTH_KEY.");
  EXPECT_EQ(why(closed, {"host:1", true, true}),
            "the server at host:1 closed the connection at once / It may not trust the "
            "certificate in --cert.");
}

TEST(Unreachable, ANameThatIsNoMachines) {
  client::Failure failure = unavailable("");
  failure.message = "DNS resolution failed for nohost:1: C-ares status is not ARES_SUCCESS";
  EXPECT_EQ(why(failure, {"nohost:1"}),
            "no machine is named \"nohost\" / Name the server with --server or BERTH_SERVER, as "
            "HOST:PORT.");
}

TEST(Unreachable, AServerThatAnswersIsNot) {
  client::Failure failure;
  failure.code = grpc::StatusCode::UNAVAILABLE;
  failure.message = "the server is stopping";
  EXPECT_EQ(why(failure), "");
  failure = unavailable("Connection refused");
  failure.code = grpc::StatusCode::INTERNAL;
  EXPECT_EQ(why(failure), "");
}

}  // namespace
}  // namespace berth::cli::unreachable_test
