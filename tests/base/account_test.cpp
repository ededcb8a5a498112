#include "base/account.h"

#include <gtest/gtest.h>

#include <string>

namespace octet {
namespace {

TEST(Account, ALineKeepsItsIdWhenAskedForAgain) {
  Account account;
  const LineId attention = account.line("attention");
  const LineId experts = account.line("experts");
  EXPECT_NE(attention.value, experts.value);
  EXPECT_EQ(account.line("attention").value, attention.value);
  EXPECT_EQ(account.line("experts").value, experts.value);
  ASSERT_EQ(account.lines().size(), 2u);
  EXPECT_EQ(account.lines()[static_cast<size_t>(experts.value)].name, "experts");
}

TEST(Account, CallsTimeAndCostsOfALineAddUpAndLeaveOtherLinesAlone) {
  Account account;
  const LineId experts = account.line("experts");
  const LineId head = account.line("head");
  for (int64_t i = 1; i <= 100; ++i) {
    account.add(experts, i, {.bytes = 10 * i, .flops = 100 * i, .distinct_experts = 2});
  }
  account.add(head, 7, {.bytes = int64_t{1} << 40});
  const Account::Line& line = account.lines()[static_cast<size_t>(experts.value)];
  EXPECT_EQ(line.calls, 100);
  EXPECT_EQ(line.ns, 5050);
  EXPECT_EQ(line.cost.bytes, 50500);
  EXPECT_EQ(line.cost.flops, 505000);
  EXPECT_EQ(line.cost.distinct_experts, 200);
  const Account::Line& other = account.lines()[static_cast<size_t>(head.value)];
  EXPECT_EQ(other.calls, 1);
  EXPECT_EQ(other.ns, 7);
  EXPECT_EQ(other.cost.bytes, int64_t{1} << 40);
}

TEST(Account, ResetClearsTheNumbersAndKeepsIdsAndNames) {
  Account account;
  const LineId head = account.line("head");
  account.add(head, 7, {.bytes = 1, .flops = 2, .distinct_experts = 3});
  account.reset();
  EXPECT_EQ(account.line("head").value, head.value);
  ASSERT_EQ(account.lines().size(), 1u);
  const Account::Line& line = account.lines().front();
  EXPECT_EQ(line.name, "head");
  EXPECT_EQ(line.calls + line.ns + line.cost.bytes + line.cost.flops + line.cost.distinct_experts, 0);
}

TEST(ScopedLine, ChargesTheTimeOfItsScopeWithTheCostSetInside) {
  Account account;
  const LineId head = account.line("head");
  const Stopwatch outer;
  int64_t inside_ns = 0;
  {
    ScopedLine scope(account, head, {.bytes = 5});
    const int64_t begin = now_ns();
    while (now_ns() - begin < 200'000) {
    }
    inside_ns = now_ns() - begin;
    scope.cost().flops = 9;
    EXPECT_EQ(account.lines().front().calls, 0) << "charged before the scope ended";
  }
  const Account::Line& line = account.lines().front();
  EXPECT_EQ(line.calls, 1);
  EXPECT_GE(line.ns, inside_ns);
  EXPECT_LE(static_cast<double>(line.ns), outer.seconds() * 1e9);
  EXPECT_EQ(line.cost.bytes, 5);
  EXPECT_EQ(line.cost.flops, 9);
}

}  // namespace
}  // namespace octet
