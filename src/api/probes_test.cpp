// Whether the server lives is answered while all other workers are busy.
#include <semaphore>

#include <gtest/gtest.h>

#include "api/auth.h"
#include "api/http_server.h"
#include "api/testing/doors.h"

namespace berth::api::probes_test {
namespace {

TEST(Probes, AreAnsweredBehindNobody) {
  testing::Doors doors;
  const auto context =
      std::make_shared<ApiContext>(doors.running.service(), MainHooks{}, StreamLimits{});
  const auto handlers = std::make_shared<Handlers>(context);
  Authenticator authenticator(false, doors.tokens(), {});
  HttpRouter router({}, *handlers, authenticator);
  auto http = HttpServer::start({.address = "127.0.0.1:0"}, router, *context);
  ASSERT_TRUE(http.ok());
  std::counting_semaphore<> go_on(0);
  for (int i = 0; i < 10; ++i)
    context->workers.post([&] { go_on.acquire(); });
  for (const char* path : {"/health", "/healthz", "/readyz"})
    EXPECT_EQ(testing::RawHttp((*http)->port()).ask("GET", path, "", "").status, 200) << path;
  go_on.release(10);
  EXPECT_EQ(testing::RawHttp((*http)->port()).ask("GET", "/api/v1/queues", "", "").status, 200);
  (*http)->stop(Duration{0});
}

}  // namespace
}  // namespace berth::api::probes_test
