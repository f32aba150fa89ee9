// Statistics for few and noisy measurements: Student's t, robust location and scale, and the
// correction for many tests. Pure.
//
// Sources: Abramowitz & Stegun, Handbook of Mathematical Functions (1964), 26.7.3 and 26.7.4 for
// Student's t; Huber, Robust Statistics (1981), §3.2 for the clipped mean and §7.10 for its
// pseudo-values; Holm, "A Simple Sequentially Rejective Multiple Test Procedure", Scandinavian
// Journal of Statistics 6 (1979); Benjamini & Hochberg, "Controlling the False Discovery Rate",
// Journal of the Royal Statistical Society B 57 (1995).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace causalctl::statistics {

double mean(std::span<const double> values);            // REQUIRES: not empty
double standard_error(std::span<const double> values);  // of the mean; REQUIRES: two or more
double trimmed_mean(std::span<const double> values);    // without 20 % at each end
double median(std::span<const double> values);          // REQUIRES: not empty
// Median distance from the median, scaled to the standard deviation of normal values. REQUIRES: not
// empty.
double robust_deviation(std::span<const double> values);

double student_t_cdf(double t, std::size_t degrees_of_freedom);  // REQUIRES: at least 1
// Returns the t that exceeds all but `tail` of the distribution. REQUIRES: 0 < tail <= 0.5.
double student_t_quantile(double tail, std::size_t degrees_of_freedom);
// Returns half of the 95 % interval of the mean (Student's t). REQUIRES: two values or more.
double half_interval_of_mean(std::span<const double> values);

inline constexpr double kNormal95 = 1.96;  // standard errors on each side of a 95 % interval

// Huber's clipping at kClip standard deviations. Clipped residuals divided by kUnclipped are
// pseudo-values. Their mean is the robust location, and their standard deviation over the square
// root of their number is its error. kClippedVariance is the variance of clipped standard normal
// values.
inline constexpr double kClip = 2.5;
inline constexpr double kUnclipped = 0.9876;
inline constexpr double kClippedVariance = 0.9776;
double clipped(double residual, double deviation);

// Adjusts p-values by Holm's method. If each test is rejected whose result is at most the level,
// the probability of any false rejection is at most the level, however the tests depend on each
// other.
std::vector<double> holm(std::span<const double> p_values);
// Adjusts p-values by the method of Benjamini and Hochberg. If each test is rejected whose result
// is at most the level, false rejections are that share of all at most, on average, where tests do
// not depend on each other.
std::vector<double> benjamini_hochberg(std::span<const double> p_values);

// Returns how probable it is that a chi-square variable is larger (Abramowitz & Stegun, 26.4.4,
// 26.4.5 and 26.4.8). REQUIRES: at least 1 degree of freedom.
double chi_square_tail(double value, std::size_t degrees_of_freedom);

}  // namespace causalctl::statistics
