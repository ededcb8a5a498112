// Every expert backend of the registry against the reference: a new line there is tested here at once.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "kernels/cpu_weights.h"
#include "moe/experts/experts.h"
#include "tensor/buffer.h"

namespace octet {
namespace {

using cpu::CpuIsa;
using test::random_floats;
using test::random_weight;
using test::TestWeight;

constexpr std::byte kGuard{0x5a};
constexpr int64_t kGuardBytes = int64_t{1} << 19;  // more than the panel of a thread that the workspace has no room for

/// One layer's weights, a routing table and activations.
struct Case {
  MoeProblem problem;
  std::vector<TestWeight> owned;
  ExpertWeights weights;
  RoutingTable table;
  std::vector<float> x;
  std::vector<float> y;  // before the call
};

Case random_case(const MoeShape& shape, const WeightFormat& format, uint32_t seed) {
  Case c;
  c.problem.shape = shape;
  c.problem.gate_up = c.problem.down = format;
  for (int32_t e = 0; e < shape.num_experts; ++e) {
    const auto s = seed + 10 * static_cast<uint32_t>(e);
    c.owned.push_back(random_weight(format, shape.expert_width, shape.hidden, s));
    c.owned.push_back(random_weight(format, shape.expert_width, shape.hidden, s + 1));
    c.owned.push_back(random_weight(format, shape.hidden, shape.expert_width, s + 2));
  }
  for (int32_t e = 0; e < shape.num_experts; ++e) {
    const size_t at = 3 * static_cast<size_t>(e);
    c.weights.ids.push_back(ExpertId{e});
    c.weights.gate.push_back(c.owned[at].view);
    c.weights.up.push_back(c.owned[at + 1].view);
    c.weights.down.push_back(c.owned[at + 2].view);
  }
  std::mt19937 rng(seed);
  c.table.top_k = shape.top_k;
  c.table.weights = random_floats(shape.num_rows(), seed + 3);
  for (int64_t t = 0; t < shape.num_tokens; ++t) {
    std::vector<int32_t> all(static_cast<size_t>(shape.num_experts));
    for (size_t e = 0; e < all.size(); ++e) all[e] = static_cast<int32_t>(e);
    std::shuffle(all.begin(), all.end(), rng);
    c.table.ids.insert(c.table.ids.end(), all.begin(), all.begin() + shape.top_k);
  }
  // Small, so that silu sees values on both sides of its bend with weights of deviation 1.
  c.x = random_floats(shape.num_tokens * shape.hidden, seed + 4);
  for (float& v : c.x) v /= std::sqrt(static_cast<float>(shape.hidden));
  c.y = random_floats(shape.num_tokens * shape.hidden, seed + 5);
  return c;
}

struct Setting {
  DeviceInfo device = this_cpu();
  int threads = 2;
};

std::vector<float> run_guarded(const ExpertLayer& layer, const Case& c, ThreadPool& pool) {
  const int64_t tokens = c.table.num_tokens(), hidden = c.problem.shape.hidden;
  const int64_t bytes = layer.workspace_bytes(tokens);
  Buffer workspace(bytes + kGuardBytes);
  std::fill_n(workspace.data(), bytes + kGuardBytes, kGuard);
  std::vector<float> y = c.y;
  layer.run(c.table, {c.x.data(), tokens, hidden}, {y.data(), tokens, hidden},
            {workspace.data(), static_cast<size_t>(bytes)}, pool);
  EXPECT_TRUE(std::all_of(workspace.data() + bytes, workspace.data() + bytes + kGuardBytes, [](std::byte b) {
    return b == kGuard;
  })) << "wrote beyond workspace_bytes";
  return y;
}

std::vector<float> run_backend(const ExpertBackendEntry& entry, const Case& c, const Setting& s) {
  ThreadPool pool(s.threads);
  return run_guarded(*entry.make(c.problem, s.device, c.weights), c, pool);
}

std::vector<float> run_reference(const Case& c) {
  ThreadPool pool(2);
  return run_guarded(*find_expert_backend("reference")->make(c.problem, this_cpu(), c.weights), c, pool);
}

/// The largest magnitude of the 16 values that value i lies among.
double largest_around(const std::vector<double>& values, size_t i) {
  double largest = 0;
  for (size_t j = i / 16 * 16; j < std::min(values.size(), i / 16 * 16 + 16); ++j) {
    largest = std::max(largest, std::abs(values[j]));
  }
  return largest;
}

/// A row's product with activations that are first rounded, by at most `rounding` of the largest of 16.
test::ExactProduct rounded_product(const std::vector<double>& row, const float* x, double rounding) {
  test::ExactProduct p = test::exact_product(row, x);
  const std::vector<double> activations(x, x + row.size());
  for (size_t k = 0; k < row.size(); ++k) {
    p.bound += 1.001 * rounding * std::abs(row[k]) * largest_around(activations, k);
  }
  return p;
}

/// How far y[t, n] may be from the reference: every sum's bound, carried through the activation. `rounding` is the
/// backend's activation_error().
double error_bound(const Case& c, int64_t t, int64_t n, double rounding) {
  const MoeShape& s = c.problem.shape;
  double bound = 0, magnitude = std::abs(double{c.y[static_cast<size_t>(t * s.hidden + n)]});
  for (int32_t a = 0; a < s.top_k; ++a) {
    const auto slot = static_cast<size_t>(t * s.top_k + a);
    const int32_t id = c.table.ids[slot];
    if (id < 0 || id >= static_cast<int32_t>(c.weights.ids.size())) continue;
    const auto e = static_cast<size_t>(id);
    const std::vector<double> down = test::exact_row(c.weights.down[e], n);
    double part_bound = 0, part = 0;
    std::vector<double> inner(static_cast<size_t>(s.expert_width));  // as large as they may be
    for (int64_t i = 0; i < s.expert_width; ++i) {
      const float* x = c.x.data() + t * s.hidden;
      const test::ExactProduct gate = rounded_product(test::exact_row(c.weights.gate[e], i), x, rounding);
      const test::ExactProduct up = rounded_product(test::exact_row(c.weights.up[e], i), x, rounding);
      const double silu = gate.value / (1 + std::exp(-gate.value));
      // |silu'| is at most 1.1; the activation and the product with up add about 5 ulp.
      const double inner_bound = 1.1 * gate.bound * std::abs(up.value) + std::abs(silu) * up.bound +
                                 gate.bound * up.bound * 1.1 + 5 * 0x1p-23 * std::abs(silu * up.value);
      const double weight = std::abs(down[static_cast<size_t>(i)]);
      part_bound += weight * inner_bound;
      inner[static_cast<size_t>(i)] = std::abs(silu * up.value) + inner_bound;
      part += weight * inner[static_cast<size_t>(i)];
    }
    for (size_t i = 0; i < inner.size(); ++i) part_bound += rounding * std::abs(down[i]) * largest_around(inner, i);
    part_bound += (static_cast<double>(s.expert_width) / 16 + 9) * 0x1p-24 * part;
    bound += std::abs(double{c.table.weights[slot]}) * part_bound;
    magnitude += std::abs(double{c.table.weights[slot]}) * part;
  }
  return 1.001 * bound + (s.top_k + 2) * 0x1p-23 * magnitude;
}

/// Whether y is within the bound of the reference's answer to c; says where not.
testing::AssertionResult matches_reference(const Case& c, const std::vector<float>& y, double rounding) {
  const std::vector<float> want = run_reference(c);
  const int64_t hidden = c.problem.shape.hidden;
  for (int64_t t = 0; t < c.table.num_tokens(); ++t) {
    // The bound is slow to compute: columns in steps, and all of the last ones, which lie beside the tiles.
    for (int64_t n = 0; n < hidden; n += n < hidden - 8 ? std::max<int64_t>(hidden / 7, 1) : 1) {
      const auto i = static_cast<size_t>(t * hidden + n);
      const double bound = error_bound(c, t, n, rounding);
      if (!(std::abs(double{y[i]} - double{want[i]}) <= bound)) {
        return testing::AssertionFailure() << "token " << t << " column " << n << ": expected " << want[i] << " within "
                                           << bound << ", got " << y[i];
      }
    }
  }
  return testing::AssertionSuccess();
}

/// A case that computes something else than it should: the mistakes that expert kernels are known for.
enum class Fault { gate_up_swapped, last_group_dropped, neighbours_scale, expert_off_by_one };

Case with_fault(Case c, Fault fault) {
  const MoeShape& s = c.problem.shape;
  switch (fault) {
    case Fault::gate_up_swapped:
      std::swap(c.weights.gate, c.weights.up);
      break;
    case Fault::last_group_dropped:  // of K, as a loop that ends one step early does
      for (int64_t t = 0; t < s.num_tokens; ++t) {
        std::fill_n(c.x.begin() + (t + 1) * s.hidden - 16, 16, 0.0f);
      }
      break;
    case Fault::neighbours_scale: {  // of the next expert
      const std::byte* first = c.weights.down.front().scales;
      for (size_t e = 0; e + 1 < c.weights.down.size(); ++e) c.weights.down[e].scales = c.weights.down[e + 1].scales;
      c.weights.down.back().scales = first;
      break;
    }
    case Fault::expert_off_by_one:
      for (int32_t& id : c.table.ids) id = (id + 1) % s.num_experts;
      break;
  }
  return c;
}

/// One backend on one instruction set. AVX-512 counts twice: with VNNI where this processor has it, and without.
struct Subject {
  const ExpertBackendEntry* backend;
  CpuIsa isa;
  bool vnni = false;
};

std::vector<Subject> subjects() {
  std::vector<Subject> all;
  const Case plain = random_case({.hidden = 64, .expert_width = 32, .num_experts = 2, .top_k = 1}, kBf16Weight, 1);
  for (const ExpertBackendEntry& entry : expert_backends()) {
    // What is made for other machines is tested there; its rules are tested in gpu_kernels_test.cpp.
    const std::optional<Refusal> refusal = entry.refuse(plain.problem, this_cpu());
    if (refusal && refusal->code == Refusal::Code::instruction_set) continue;
    for (const CpuIsa isa : {CpuIsa::portable, CpuIsa::avx2, CpuIsa::avx512}) all.push_back({&entry, isa});
    all.push_back({&entry, CpuIsa::avx512, /*vnni=*/true});
  }
  return all;
}

std::string subject_name(const testing::TestParamInfo<Subject>& subject) {
  std::string name = std::string(subject.param.backend->name) + "_" + test::name_of(subject.param.isa) +
                     (subject.param.vnni ? "_vnni" : "");
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}

class ExpertBackends : public testing::TestWithParam<Subject> {
 protected:
  void SetUp() override {
    OCTET_SKIP_UNLESS_CPU_CAN_RUN(GetParam().isa);
    if (GetParam().vnni && !this_cpu().cpu.avx512_vnni) GTEST_SKIP() << "this processor has no AVX-512 VNNI";
    if (formats().empty()) GTEST_SKIP() << "refuses every format on this instruction set";
  }
  Setting setting(int threads = 2) const {
    Setting s{.device = test::device_with(GetParam().isa), .threads = threads};
    s.device.cpu.avx512_vnni = GetParam().vnni;
    return s;
  }
  std::vector<float> run(const Case& c, const Setting& s) const { return run_backend(*GetParam().backend, c, s); }
  std::vector<float> run(const Case& c) const { return run(c, setting()); }
  /// The formats that the backend takes.
  std::vector<WeightFormat> formats() const {
    std::vector<WeightFormat> taken;
    for (const WeightFormat& format : test::cpu_formats()) {
      MoeProblem problem;
      problem.gate_up = problem.down = format;
      if (!GetParam().backend->refuse(problem, setting().device)) taken.push_back(format);
    }
    return taken;
  }
  /// That format, or another one that the backend takes.
  WeightFormat format_like(const WeightFormat& wanted) const {
    const std::vector<WeightFormat> all = formats();
    return std::find(all.begin(), all.end(), wanted) == all.end() ? all.front() : wanted;
  }
  void expect_matches(const Case& c, const std::vector<float>& y) const {
    const double rounding = GetParam().backend->make(c.problem, setting().device, c.weights)->activation_error();
    EXPECT_TRUE(matches_reference(c, y, rounding));
  }
};

INSTANTIATE_TEST_SUITE_P(Registry, ExpertBackends, testing::ValuesIn(subjects()), subject_name);

TEST_P(ExpertBackends, MatchesTheReferenceForEveryFormatAndTokenCount) {
  for (const WeightFormat& format : formats()) {
    for (const int64_t tokens : {0, 1, 2, 3, 5, 8}) {
      const Case c = random_case({.num_tokens = tokens, .hidden = 64, .expert_width = 32, .num_experts = 4, .top_k = 3},
                                 format, 100);
      expect_matches(c, run(c));
    }
  }
}

TEST_P(ExpertBackends, SeededFaultsAreFarOutsideTheBound) {
  const MoeShape shape = {.num_tokens = 2, .hidden = 64, .expert_width = 32, .num_experts = 5, .top_k = 2};
  const Case good = random_case(shape, kNvfp4Weight, 107);
  const double rounding = GetParam().backend->make(good.problem, setting().device, good.weights)->activation_error();
  EXPECT_TRUE(matches_reference(good, run(good), rounding));
  for (const Fault fault :
       {Fault::gate_up_swapped, Fault::last_group_dropped, Fault::neighbours_scale, Fault::expert_off_by_one}) {
    EXPECT_FALSE(matches_reference(good, run(with_fault(good, fault)), rounding)) << static_cast<int>(fault);
  }
}

TEST_P(ExpertBackends, WidthsBesideTheTilesMatchTheReference) {
  for (const WeightFormat& format : formats()) {
    const Case c =
        random_case({.num_tokens = 3, .hidden = 70, .expert_width = 67, .num_experts = 3, .top_k = 2}, format, 101);
    expect_matches(c, run(c));
  }
}

TEST_P(ExpertBackends, OneExpertTakingEveryTokenMatchesTheReference) {
  Case c = random_case({.num_tokens = 67, .hidden = 32, .expert_width = 16, .num_experts = 300, .top_k = 1},
                       kNvfp4Weight, 102);
  std::fill(c.table.ids.begin(), c.table.ids.end(), 299);
  expect_matches(c, run(c));
}

TEST_P(ExpertBackends, ATokenHasTheSameBitsInEveryBatchAndForAnyThreads) {
  const MoeShape shape = {.num_tokens = 33, .hidden = 160, .expert_width = 96, .num_experts = 8, .top_k = 3};
  const Case c = random_case(shape, kNvfp4Weight, 103);
  const std::vector<float> first = run(c);
  for (const int threads : {1, 3}) EXPECT_EQ(run(c, setting(threads)), first);
  for (int64_t t = 0; t < shape.num_tokens; ++t) {
    Case alone = c;
    const auto from = [&](const auto& v, int64_t width) {
      return std::vector(v.begin() + t * width, v.begin() + (t + 1) * width);
    };
    alone.x = from(c.x, shape.hidden);
    alone.y = from(c.y, shape.hidden);
    alone.table.ids = from(c.table.ids, shape.top_k);
    alone.table.weights = from(c.table.weights, shape.top_k);
    ASSERT_EQ(run(alone), from(first, shape.hidden)) << t;
  }
}

TEST_P(ExpertBackends, PaddingRowsAreLeftAloneAndTheirNanDoesNotSpread) {
  const MoeShape shape = {.num_tokens = 5, .hidden = 32, .expert_width = 16, .num_experts = 4, .top_k = 2};
  Case c = random_case(shape, kNvfp4Weight, 104);
  for (const int64_t t : {1, 4}) {
    std::fill_n(c.table.ids.begin() + t * 2, 2, -1);
    std::fill_n(c.x.begin() + t * shape.hidden, shape.hidden, std::numeric_limits<float>::quiet_NaN());
  }
  const std::vector<float> y = run(c);
  for (size_t i = 0; i < y.size(); ++i) {
    ASSERT_FALSE(std::isnan(y[i]));
    const size_t t = i / static_cast<size_t>(shape.hidden);
    EXPECT_EQ(y[i] == c.y[i], t == 1 || t == 4) << i;
  }
}

TEST_P(ExpertBackends, ExpertsOfOtherRanksArePassedOver) {
  const MoeShape shape = {.num_tokens = 6, .hidden = 32, .expert_width = 16, .num_experts = 8, .top_k = 3};
  Case c = random_case(shape, format_like(kBf16Weight), 105);
  // This rank holds experts 2, 3 and 6 only; the reference passes over the others by the same rule.
  ExpertWeights held;
  for (const size_t e : {2u, 3u, 6u}) {
    held.ids.push_back(c.weights.ids[e]);
    held.gate.push_back(c.weights.gate[e]);
    held.up.push_back(c.weights.up[e]);
    held.down.push_back(c.weights.down[e]);
  }
  Case all = c;
  for (int32_t& id : all.table.ids) id = id == 2 || id == 3 || id == 6 ? id : -1;
  c.weights = held;
  EXPECT_EQ(run(c), run(all));
  expect_matches(all, run(c));
}

TEST_P(ExpertBackends, MoreThreadsThanTheDeviceDeclaredStayInsideTheWorkspace) {
  Case c = random_case({.num_tokens = 60, .hidden = 512, .expert_width = 256, .num_experts = 4, .top_k = 2},
                       kNvfp4Weight, 106);
  Setting many = setting(6);
  many.device.num_threads = 2;
  EXPECT_EQ(run(c, many), run(c));
}

}  // namespace
}  // namespace octet
