#include "models/rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace octet {
namespace {

/// m(s, c) of YaRN: how much longer contexts sharpen attention.
double yarn_mscale(double factor, double c) { return factor <= 1 ? 1.0 : 0.1 * c * std::log(factor) + 1.0; }

/// Frequencies are rounded to float32 where the published implementations round them.
std::vector<float> base_frequencies(int64_t width, double theta) {
  std::vector<float> f;
  for (int64_t i = 0; i < width; i += 2) {
    const float exponent = static_cast<float>(i) / static_cast<float>(width);
    f.push_back(1.0f / static_cast<float>(std::pow(theta, static_cast<double>(exponent))));
  }
  return f;
}

/// YaRN: high frequencies stay, low ones are divided by the factor, with a linear ramp between (arXiv 2309.00071).
void apply_yarn(const ConfigReader& config, const ConfigReader& scaling, int64_t width, double theta,
                int64_t max_positions, Rope& rope) {
  // The key stands inside the scaling settings, or beside them, where it wins.
  const double original =
      config.number("original_max_position_embeddings",
                    scaling.number("original_max_position_embeddings", static_cast<double>(max_positions)));
  const double factor = scaling.number("factor");
  const double beta_fast = scaling.number("beta_fast", 32), beta_slow = scaling.number("beta_slow", 1);
  if (!(original > 0 && factor > 0 && beta_fast > 0 && beta_slow > 0)) {
    scaling.refuse("factor", "expected positive factor, original_max_position_embeddings, beta_fast and beta_slow");
  }
  const auto d = static_cast<double>(width);
  const auto correction = [&](double beta) {
    return d * std::log(original / (beta * 2 * std::numbers::pi)) / (2 * std::log(theta));
  };
  double low = correction(beta_fast), high = correction(beta_slow);
  if (scaling.boolean("truncate", true)) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, d - 1);
  if (low == high) high += 0.001;
  for (size_t i = 0; i < rope.frequencies.size(); ++i) {
    const double ramp = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
    const double f = rope.frequencies[i];
    rope.frequencies[i] = static_cast<float>(f * (1 - ramp) + f / factor * ramp);
  }
  const double mscale = scaling.number("mscale", 0), mscale_all = scaling.number("mscale_all_dim", 0);
  rope.attention_factor = mscale != 0 && mscale_all != 0 ? yarn_mscale(factor, mscale) / yarn_mscale(factor, mscale_all)
                                                         : yarn_mscale(factor, 1);
  rope.attention_factor = scaling.number("attention_factor", rope.attention_factor);
}

/// Llama 3.1: wavelengths beyond the original context are stretched, with a smooth step between two bounds.
void apply_llama3(const ConfigReader& scaling, Rope& rope) {
  const double factor = scaling.number("factor"), low = scaling.number("low_freq_factor");
  const double high = scaling.number("high_freq_factor");
  const double original = scaling.number("original_max_position_embeddings");
  if (!(factor > 0 && high > low))
    scaling.refuse("factor", "expected factor > 0 and high_freq_factor > low_freq_factor");
  for (float& frequency : rope.frequencies) {
    const double f = frequency, wavelength = 2 * std::numbers::pi / f;
    const double smooth = std::clamp((original / wavelength - low) / (high - low), 0.0, 1.0);
    frequency = static_cast<float>((1 - smooth) * f / factor + smooth * f);
  }
}

}  // namespace

Rope read_rope(const ConfigReader& config, int64_t width, double default_theta, int64_t max_positions) {
  // As transformers 5 does: the older key replaces the newer one, and the nearer base wins.
  const std::optional<ConfigReader> scaling =
      config.has("rope_scaling") ? config.object("rope_scaling") : config.object("rope_parameters");
  const double outer_theta = config.number("rope_theta", default_theta);
  const double theta = scaling ? scaling->number("rope_theta", outer_theta) : outer_theta;
  if (theta <= 1) config.refuse("rope_theta", "expected a base above 1, got " + std::to_string(theta));
  Rope rope{.frequencies = base_frequencies(width, theta)};
  if (!scaling) return rope;
  const std::string type = scaling->text("rope_type", scaling->text("type", "default"));
  if (type == "yarn") {
    apply_yarn(config, *scaling, width, theta, max_positions, rope);
  } else if (type == "llama3") {
    apply_llama3(*scaling, rope);
  } else if (type == "linear") {
    const double factor = scaling->number("factor");
    if (factor <= 0) scaling->refuse("factor", "expected a positive number, got " + std::to_string(factor));
    for (float& f : rope.frequencies) f = static_cast<float>(f / factor);
  } else if (type != "default" && type != "dynamic") {
    fail(ErrorCode::unsupported, config.where(),
         ": rope_type: expected default, linear, yarn, llama3 or dynamic, got \"", type, "\"");
  }
  if (const double all_dim = scaling->number("mscale_all_dim", 0); all_dim != 0 && type != "default") {
    const double m = yarn_mscale(scaling->number("factor"), all_dim);
    rope.softmax_factor = m * m;
  }
  return rope;
}

RopeTable make_rope_table(const Rope& rope, std::span<const int64_t> positions, Arena& arena) {
  const auto rows = static_cast<int64_t>(positions.size()), half = static_cast<int64_t>(rope.frequencies.size());
  const View2<float> cos = arena.matrix(rows, half), sin = arena.matrix(rows, half);
  for (int64_t t = 0; t < rows; ++t) {
    for (int64_t i = 0; i < half; ++i) {
      // The angle is rounded to float32, as in the implementations that models are trained with.
      const float angle =
          static_cast<float>(positions[static_cast<size_t>(t)]) * rope.frequencies[static_cast<size_t>(i)];
      cos(t, i) = static_cast<float>(std::cos(static_cast<double>(angle)) * rope.attention_factor);
      sin(t, i) = static_cast<float>(std::sin(static_cast<double>(angle)) * rope.attention_factor);
    }
  }
  return {.cos = cos, .sin = sin};
}

}  // namespace octet
