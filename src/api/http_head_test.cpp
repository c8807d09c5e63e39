// Heads of requests: what is refused because someone else could read it differently.
#include "api/http_head.h"

#include <gtest/gtest.h>

namespace berth::api::http_head_test {
namespace {

std::string head(const std::string& fields, const std::string& line = "GET / HTTP/1.1") {
  return line + "\r\nHost: a\r\n" + fields + "\r\n";
}
int status_of(const std::string& text) {
  const auto flaw = flaw_in_head(text);
  return flaw ? flaw->status : 200;
}

TEST(HttpHead, EndsWithAnEmptyLine) {
  EXPECT_EQ(head_size("GET / HTTP/1.1\r\nHost: a\r\n"), 0U);
  EXPECT_EQ(head_size("GET / HTTP/1.1\r\nHost: a\r\n\r\nbody"), 27U);
}

TEST(HttpHead, PlainRequestsPass) {
  EXPECT_EQ(status_of(head("")), 200);
  EXPECT_EQ(status_of(head("Content-Length: 5\r\nAccept: x\r\nAccept: y\r\n")), 200);
  EXPECT_EQ(status_of(head("transfer-encoding:\tChunked \r\n", "POST /api/v1/tasks HTTP/1.1")),
            200);
  EXPECT_EQ(status_of("GET / HTTP/1.0\r\n\r\n"), 200);
}

TEST(HttpHead, WhatTwoReadersCouldTakeDifferentlyIsRefused) {
  for (const char* fields : {
           "X: a\r\n b\r\n",                              // a folded line
           "X: a\r\n\tContent-Length: 5\r\n",             // the same, as smugglers do it
           "Host: b\r\n",                                 // a second host
           "Content-Length: 5\r\nContent-Length: 6\r\n",  // two lengths
           "Content-Length: 5\r\ncontent-length: 5\r\n",  // even alike
           "Content-Length: 5, 5\r\n",                    //
           "Content-Length: +5\r\n",                      //
           "Content-Length: 0x5\r\n",                     //
           "Content-Length:\r\n",                         //
           "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
           "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
           "Transfer-Encoding : chunked\r\n",  // a blank before the colon
           "Authorization: Bearer a\r\nAuthorization: Bearer b\r\n",
           "X\r\n",                                 // no colon
           ": x\r\n",                               // no name
           "X: a\nTransfer-Encoding: chunked\r\n",  // a bare LF
           "X: a\rTransfer-Encoding: chunked\r\n",  // a bare CR
       }) {
    EXPECT_EQ(status_of(head(fields)), 400) << fields;
  }
  EXPECT_EQ(status_of(head(std::string("X: a\0b\r\n", 8))), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\n\r\n"), 400) << "no host";
  EXPECT_EQ(status_of("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"), 400);
}

TEST(HttpHead, ATransferEncodingThatIsNotKnownIsNotImplemented) {
  for (const char* coding :
       {"gzip", "gzip, chunked", "chunked, chunked", "xchunked", "identity", "chunked;q=1", ""}) {
    EXPECT_EQ(status_of(head("Transfer-Encoding: " + std::string(coding) + "\r\n")), 501) << coding;
  }
}

TEST(HttpHead, HasALimitedNumberOfFields) {
  std::string fields;
  for (int i = 0; i < 99; ++i)
    fields += "X" + std::to_string(i) + ": 1\r\n";
  EXPECT_EQ(status_of(head(fields)), 200);
  EXPECT_EQ(status_of(head(fields + "Y: 1\r\n")), 431);
}

TEST(HttpHead, LinesAreJudgedBeforeTheyAreAllThere) {
  EXPECT_FALSE(flaw_in_lines("GET / HTTP/1.1\r\nHost: a\r"));
  EXPECT_TRUE(flaw_in_lines("GET / HTTP/1.1\n"));
  EXPECT_TRUE(flaw_in_lines("\nGET"));
  EXPECT_TRUE(flaw_in_lines("\x16\x03\x01"));
}

}  // namespace
}  // namespace berth::api::http_head_test
