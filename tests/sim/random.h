// Random numbers that are the same with every standard library.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <random>

namespace causalctl::sim {

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  double uniform() { return static_cast<double>(engine_() >> 11) * 0x1.0p-53; }  // in [0, 1)
  double uniform(double low, double high) { return low + (high - low) * uniform(); }

  // Has the mean 1 and a standard deviation of about `spread`.
  double lognormal(double spread) {
    if (spread <= 0) return 1;
    const double variance = std::log1p(spread * spread);
    return std::exp(std::sqrt(variance) * normal() - variance / 2);
  }

  double exponential() { return -std::log(1 - uniform()); }  // has the mean 1

 private:
  double normal() {  // Box and Muller 1958
    return std::sqrt(-2 * std::log(1 - uniform())) * std::cos(2 * std::numbers::pi * uniform());
  }

  std::mt19937_64 engine_;
};

}  // namespace causalctl::sim
