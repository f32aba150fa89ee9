// Tests unwinders of processes that share files, and that may be gone when their samples come.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <memory>
#include <utility>
#include <vector>

#include "controller/base/procfs.h"
#include "tests/kernel/unwind/target_program.h"
#include "unwind/modules/image_files.h"
#include "unwind/stack/unwinder.h"

namespace causalctl::unwind {
namespace {

constexpr std::size_t kWholeStack = 65536;
constexpr std::size_t kMostFrames = 64;

// A program within a comparison that qsort has called, and what the unwinder of the live process
// says of it.
struct Sorting {
  explicit Sorting(const std::string& variant = "symbols_dwarf5")
      : program(std::make_unique<TargetProgram>(target_path(variant))) {
    program->send("sort");
    REQUIRE(program->receive() == "sorting");
    pid = program->pid();
    sample = snapshot(pid, kWholeStack);
    maps = *procfs::maps(pid);
    Unwinder unwinder(pid);
    chain = unwinder.unwind(sample.registers, sample.stack, kMostFrames);
    REQUIRE(unwinder.last_complete());
    REQUIRE(chain.size() > 3);
  }

  // Returns the mappings of which there are records.
  std::vector<procfs::Map> told() const {
    std::vector<procfs::Map> lines = maps;
    std::erase_if(lines, [](const procfs::Map& line) {
      return !line.executable || line.path == "[vsyscall]";
    });
    return lines;
  }
  bool unwinds(Unwinder& unwinder) const {
    return unwinder.unwind(sample.registers, sample.stack, kMostFrames) == chain &&
           unwinder.last_complete();
  }

  std::unique_ptr<TargetProgram> program;
  Pid pid = 0;
  Snapshot sample;
  std::vector<procfs::Map> maps;
  std::vector<Address> chain;
};

}  // namespace

TEST_CASE("a process that has ended is unwound by what records told of it", "[unwind]") {
  Sorting ended(GENERATE("symbols_dwarf5", "symbols_no_pie"));
  const auto files = std::make_shared<ImageFiles>();
  Unwinder unwinder(ended.pid, files, {});
  const bool is_told_before = GENERATE(true, false);
  if (!is_told_before) ended.program.reset();
  for (const procfs::Map& line : ended.told()) unwinder.mapped(line);
  ended.program.reset();
  CHECK(ended.unwinds(unwinder));
  CHECK(unwinder.maps().size() == ended.told().size());
}

TEST_CASE("processes of one program share its files", "[unwind]") {
  const auto files = std::make_shared<ImageFiles>();
  Sorting first;
  Unwinder unwinder(first.pid, files, first.maps);
  CHECK(first.unwinds(unwinder));
  const std::size_t known = files->size();
  CHECK(known >= 3);
  Sorting second;
  Unwinder other(second.pid, files, second.maps);
  CHECK(second.unwinds(other));
  CHECK(files->size() == known);
  CHECK(first.unwinds(unwinder));
}

TEST_CASE("a child begins with the mappings of its parent", "[unwind]") {
  const auto files = std::make_shared<ImageFiles>();
  Sorting parent;
  Unwinder unwinder(parent.pid, files, {});
  for (const procfs::Map& line : parent.told()) unwinder.mapped(line);
  const Pid gone = fork();
  if (gone == 0) _exit(0);
  waitpid(gone, nullptr, 0);
  Unwinder child(gone, files, unwinder.maps());
  CHECK(parent.unwinds(child));
}

TEST_CASE("samples of before an exec are unwound by the mappings of their time", "[unwind]") {
  const auto files = std::make_shared<ImageFiles>();
  Sorting before("symbols_no_pie");
  // The process runs this program by now, as far as /proc and its memory tell.
  Sorting after;
  Unwinder unwinder(after.pid, files, before.maps);
  CHECK(before.unwinds(unwinder));
  unwinder.unmap_all();
  CHECK(unwinder.maps().empty());
  CHECK(unwinder.unwind(before.sample.registers, before.sample.stack, kMostFrames).size() == 1);
  for (const procfs::Map& line : after.told()) unwinder.mapped(line);
  CHECK(after.unwinds(unwinder));
}

TEST_CASE("a process that is gone and told nothing of has chains of one frame", "[unwind]") {
  Sorting ended;
  ended.program.reset();
  Unwinder unwinder(ended.pid, std::make_shared<ImageFiles>(), {});
  unwinder.mend_stacks();
  CHECK(unwinder.unwind(ended.sample.registers, ended.sample.stack, kMostFrames).size() == 1);
  unwinder.refresh();
  CHECK(unwinder.maps().empty());
}

}  // namespace causalctl::unwind
