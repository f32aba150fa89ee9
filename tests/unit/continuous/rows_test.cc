// Tests the sums of a profile, and which epochs a reader means.
#include "controller/continuous/analysis/rows.h"

#include <catch2/catch.hpp>

#include "controller/base/error.h"
#include "controller/continuous/analysis/epoch_choice.h"

namespace causalctl::continuous {
namespace {

const Image kSampledServer = {ImageKind::file, "/usr/bin/server", "ab"};
const Image kSampledLibrary = {ImageKind::file, "/lib/library.so", "cd"};

Count of(std::uint64_t samples) {
  return {samples, static_cast<Nanoseconds>(samples) * kMillisecond};
}

Profile some_profile() {
  Profile profile;
  profile[{kSampledServer, "cpu", "day"}] = {{0x10, of(30)}, {0x18, of(10)}, {0x40, of(20)}};
  profile[{kSampledServer, "cpu", "night"}] = {{0x11, of(5)}};
  profile[{kSampledLibrary, "cpu", "day"}] = {{0x10, of(35)}};
  profile[{kSampledLibrary, "other", "day"}] = {{0x10, of(1000)}};
  return profile;
}

FunctionAt name_of(const Image& image, Address offset) {
  const Address begin = offset / 0x20 * 0x20;
  return {image.path.substr(1, 3) + std::to_string(begin), begin, begin + 0x20};
}

}  // namespace

TEST_CASE("A profile is summed by function, image or label", "[continuous]") {
  const Rows functions = rows_of(some_profile(), "cpu", By::function, name_of);
  CHECK(functions.all.samples == 100);
  REQUIRE(functions.rows.size() == 3);
  CHECK(functions.rows[0].name == "usr0");
  CHECK(functions.rows[0].image == kSampledServer.path);
  CHECK(functions.rows[0].count == of(45));
  CHECK(functions.rows[0].share.value == Approx(0.45));
  CHECK(functions.rows[0].share.low == Approx(0.356).margin(0.001));
  CHECK(functions.rows[0].share.high == Approx(0.548).margin(0.001));
  CHECK(functions.rows[1].name == "lib0");
  CHECK(functions.rows[2].count == of(20));
  const Rows images = rows_of(some_profile(), "cpu", By::image, name_of);
  REQUIRE(images.rows.size() == 2);
  CHECK(images.rows[0].name == kSampledServer.path);
  CHECK(images.rows[0].count == of(65));
  const Rows labels = rows_of(some_profile(), "cpu", By::label, name_of);
  REQUIRE(labels.rows.size() == 2);
  CHECK(labels.rows[1].name == "night");
  CHECK(rows_of({}, "cpu", By::function, name_of).rows.empty());
}

// Otherwise epochs with shorter periods would outweigh others.
TEST_CASE("A share is one of the time, whatever its samples stand for", "[continuous]") {
  Profile profile;
  profile[{kSampledServer}] = {{0x10, {1000, 100 * kMillisecond}}};
  profile[{kSampledLibrary}] = {{0x10, {100, 100 * kMillisecond}}};
  const Rows rows = rows_of(profile, "cpu", By::image, name_of);
  REQUIRE(rows.rows.size() == 2);
  for (const Row& row : rows.rows) {
    CHECK(row.share.value == Approx(0.5));
    // As much is known as from 364 samples of equal weight.
    CHECK(row.share.high - row.share.low == Approx(2 * 0.0511).margin(0.001));
  }
}

TEST_CASE("Epochs are chosen by number, name, and time", "[continuous]") {
  const std::int64_t day_ns = 24 * 3600 * kSecond;
  const std::int64_t now_ns = 20'000 * day_ns + 12 * 3600 * kSecond;
  const std::vector<Epoch> epochs = {{1, "", now_ns - 3 * day_ns, now_ns - 2 * day_ns},
                                     {2, "release", now_ns - 2 * day_ns, now_ns - day_ns},
                                     {7, "release", now_ns - 60 * kSecond, now_ns}};
  using Chosen = std::vector<std::int64_t>;
  CHECK(choose_epochs(epochs, "last", now_ns) == Chosen{7});
  CHECK(choose_epochs(epochs, "all", now_ns) == Chosen{1, 2, 7});
  CHECK(choose_epochs(epochs, "2", now_ns) == Chosen{2});
  CHECK(choose_epochs(epochs, "release", now_ns) == Chosen{2, 7});
  const auto at = [](std::int64_t time_ns) {
    std::string text = time_text(time_ns);
    text[10] = 'T';
    return text;
  };
  CHECK(choose_epochs(epochs,
                      at(now_ns - 2 * day_ns - kSecond) + ".." + at(now_ns - day_ns - kSecond),
                      now_ns) == Chosen{1, 2});
  CHECK(choose_epochs(epochs, ".." + at(now_ns - 2 * day_ns - kSecond), now_ns) == Chosen{1});
  CHECK(choose_epochs(epochs, at(now_ns - 10 * kSecond) + "..", now_ns) == Chosen{7});
  CHECK_THROWS_AS(choose_epochs(epochs, "none", now_ns), UsageError);
  CHECK_THROWS_AS(choose_epochs(epochs, "3", now_ns), UsageError);
  CHECK_THROWS_AS(choose_epochs(epochs, "x..y", now_ns), UsageError);
  CHECK_THROWS_AS(choose_epochs({}, "last", now_ns), UsageError);
}

TEST_CASE("A hint tells names of epochs in one line", "[continuous]") {
  const std::vector<Epoch> epochs = {{1, "two\nlines", 0, kSecond}};
  try {
    choose_epochs(epochs, "none", kSecond);
    FAIL("it was chosen");
  } catch (const UsageError& error) {
    CHECK_THAT(error.hint(), Catch::Matchers::EndsWith("1 two?lines"));
  }
}

TEST_CASE("Where the kernel lets interrupts in, the report says whose time is there",
          "[continuous]") {
  const Image kernel = {ImageKind::kernel, "[kernel]", ""};
  const auto name = [](const Image& image, Address offset) {
    const char* text = image.kind == ImageKind::file ? "_raw_spin_unlock_irq"
                       : offset == 0                 ? "_raw_spin_unlock_irqrestore"
                       : offset == 1                 ? "finish_task_switch.isra.0"
                                                     : "tcp_ack";
    return FunctionAt{text, offset, offset + 1};
  };
  const auto told = [&](std::uint64_t unlock, std::uint64_t finish) {
    Profile profile;
    profile[{kernel}] = {{0, of(unlock)}, {1, of(finish)}, {2, of(50)}};
    profile[{kSampledServer}] = {
        {0, of(50 - unlock - finish)}};  // called so, but not of the kernel
    return about_interrupts(rows_of(profile, "cpu", By::function, name));
  };
  CHECK(told(3, 1).empty());
  CHECK(told(4, 1) ==
        "5.0 % of the samples are where the kernel lets interrupts in again "
        "(_raw_spin_unlock_irqrestore, finish_task_switch.isra.0): the time of code before them "
        "counts there");
}

}  // namespace causalctl::continuous
