// support/error_of.h — the message of an Error, for tests of what a user reads.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "base/error.h"

namespace octet::testing {

/// Message of the Error(code) that call() throws. Fails the test if the code is another; "" if nothing is thrown.
template <class Call>
std::string error_of(ErrorCode code, Call call) {
  try {
    call();
  } catch (const Error& e) {
    EXPECT_EQ(to_string(e.code()), to_string(code)) << e.what();
    return e.what();
  }
  return {};
}

/// Whether `text` contains `part`; prints both if not.
inline ::testing::AssertionResult contains(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "expected \"" << part << "\" in \"" << text << "\"";
}

}  // namespace octet::testing
