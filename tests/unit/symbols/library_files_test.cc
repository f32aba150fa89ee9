#include "controller/symbols/library_files.h"

#include <catch2/catch.hpp>
#include <string>

namespace causalctl::symbols {
namespace {

TEST_CASE("files of libraries, by where tools put them", "[symbols][library_files]") {
  struct Row {
    const char* path;
    const char* library;
  };
  static constexpr Row kRows[] = {
      {"/usr/include/c++/12/bits/stl_algobase.h", "/usr/include/"},
      {"/usr/lib/gcc/x86_64-linux-gnu/12/include/emmintrin.h", "/usr/lib/"},
      {"/usr/local/include/boost/asio.hpp", "/usr/local/include/"},
      {"/opt/acc/include/acc.h", "/opt/acc/include/"},
      {"/opt/acc/2.1/include/deep/acc.h", "/opt/acc/2.1/include/"},
      {"/opt/rh/gcc-toolset-12/root/usr/include/c++/12/vector",
       "/opt/rh/gcc-toolset-12/root/usr/include/c++/"},
      {"/home/me/gcc/include/c++/v1/vector", "/home/me/gcc/include/c++/"},
      {"/home/me/llvm/lib/clang/17/include/immintrin.h", "/home/me/llvm/lib/clang/"},
      {"/home/me/.conan/data/fmt/9.1.0/_/_/package/0a1b/include/fmt/core.h", "/home/me/.conan/"},
      {"/home/me/.conan2/p/fmt0a1b/p/include/fmt/core.h", "/home/me/.conan2/"},
      {"/src/app/vcpkg_installed/x64-linux/include/fmt/core.h", "/src/app/vcpkg_installed/"},
      {"/home/me/vcpkg/installed/x64-linux/include/fmt/core.h", "/home/me/vcpkg/installed/"},
      {"/home/me/vcpkg/buildtrees/fmt/src/9.1.0/fmt.cc", "/home/me/vcpkg/buildtrees/"},
      {"/nix/store/0a1b-fmt-9.1.0-dev/include/fmt/core.h",
       "/nix/store/0a1b-fmt-9.1.0-dev/include/"},
      {"/home/me/spack/opt/spack/linux/gcc/fmt-9-0a1b/include/fmt/core.h",
       "/home/me/spack/opt/spack/"},
      {"/home/me/miniconda3/envs/x/include/eigen3/Eigen/Core",
       "/home/me/miniconda3/envs/x/include/"},
      {"/srv/envs/x/include/eigen3/Eigen/Core", "/srv/envs/x/include/"},
      {"/home/linuxbrew/.linuxbrew/Cellar/fmt/9/include/fmt/core.h", "/home/linuxbrew/.linuxbrew/"},
      {"/src/app/build/_deps/fmt-src/include/fmt/core.h", "/src/app/build/_deps/fmt-src/"},
      {"/proc/self/cwd/external/com_google_absl/absl/hash.h",
       "/proc/self/cwd/external/com_google_absl/"},
      {"/build/gcc-12/libstdc++-v3/src/c++11/string.cc", "/build/gcc-12/libstdc++-v3/"},
      {"/rustc/59807616e1fa2540724bfbac14d7976d7e4a3860/library/core/src/ptr/mod.rs",
       "/rustc/59807616e1fa2540724bfbac14d7976d7e4a3860/library/"},
      {"/rust/deps/hashbrown-0.16.1/src/raw.rs", "/rust/deps/"},
      {"/usr/src/rustc-1.63.0/vendor/hashbrown/src/raw/mod.rs", "/usr/src/rustc-1.63.0/"},
      {"/home/me/.rustup/toolchains/stable-x86_64-unknown-linux-gnu/lib/rustlib/src/rust/library/"
       "core/src/num/mod.rs",
       "/home/me/.rustup/toolchains/stable-x86_64-unknown-linux-gnu/lib/rustlib/src/"},
      {"/home/me/.cargo/registry/src/index.crates.io-6f17d22bba15001f/regex-1.10.2/src/exec.rs",
       "/home/me/.cargo/registry/src/index.crates.io-6f17d22bba15001f/regex-1.10.2/"},
      {"/usr/local/cargo/registry/src/github.com-1ecc6299db9ec823/serde-1.0.0/src/de.rs",
       "/usr/local/cargo/registry/src/github.com-1ecc6299db9ec823/serde-1.0.0/"},
      {"/home/me/.cargo/git/checkouts/fork-0a1b2c/0a1b/src/lib.rs",
       "/home/me/.cargo/git/checkouts/fork-0a1b2c/"},
      {"/usr/share/cargo/registry/memchr-2.5.0/src/lib.rs", "/usr/share/cargo/registry/"},
      {"/usr/lib/go-1.19/src/runtime/mgc.go", "/usr/lib/go-1.19/src/runtime/"},
      {"/usr/local/go/src/net/http/server.go", "/usr/local/go/src/net/"},
      {"/usr/local/go/src/runtime/asm_amd64.s", "/usr/local/go/src/runtime/"},
      {"/home/me/sdk/go1.22.1/src/sort/sort.go", "/home/me/sdk/go1.22.1/src/sort/"},
      {"/home/me/go/pkg/mod/github.com/klauspost/compress@v1.17.0/zstd/decoder.go",
       "/home/me/go/pkg/mod/github.com/klauspost/compress@v1.17.0/"},
      {"github.com/klauspost/compress@v1.17.0/zstd/decoder.go",
       "github.com/klauspost/compress@v1.17.0/"},
      {"runtime/mgc.go", "runtime/"},
      {"net/http/server.go", "net/"},
  };
  for (const Row& row : kRows) {
    INFO(row.path);
    CHECK(library_of(row.path) == row.library);
  }
}

TEST_CASE("files of a user's program, wherever it is", "[symbols][library_files]") {
  for (const char* path : {"/src/app/work.cc",
                           "/opt/project/src/work.cc",
                           "/opt/project/src/include/work.h",
                           "/home/me/project/include/work.h",
                           "/usr/src/debug/app-1.0/work.c",
                           "work.c",
                           "src/main.rs",
                           "/home/me/app/vendor/serde/src/lib.rs",
                           "/home/me/go/src/github.com/me/app/main.go",
                           "/home/me/app/sort/sort.go",
                           "github.com/me/app/runtime/x.go",
                           "./main.go",
                           "main.go",
                           "/home/me/go-app/main.go",
                           "runtime/mgc.c",
                           "/opt/include.c",
                           "",
                           "/",
                           "//",
                           "include/x.h",
                           "/home/me/registry/src/lib.rs",
                           "/rustc/x.rs",
                           "/home/me/@v/x.go",
                           "/home/me/vcpkg.cc",
                           "/home/me/external/work.cc",
                           "/nix/store/0a1b-source/work.cc"}) {
    INFO(path);
    CHECK(library_of(path).empty());
  }
}

TEST_CASE("headers below the prefix of the binary are the program's", "[symbols][library_files]") {
  const std::string header = "/opt/acc/include/acc.h";
  CHECK(library_of(header, "/opt/acc/bin/server").empty());
  CHECK_FALSE(library_of(header, "/opt/accounts/bin/server").empty());
  CHECK_FALSE(library_of("/usr/include/x.h", "/usr/bin/server").empty());
  const std::string of_conda = "/home/me/conda/envs/x/include/x.h";
  CHECK(library_of(of_conda, "/home/me/conda/envs/x/bin/server").empty());
  CHECK_FALSE(library_of(of_conda, "/home/me/conda/envs/y/bin/server").empty());
}

TEST_CASE("code that a compiler wrote", "[symbols][library_files]") {
  CHECK(is_generated("<autogenerated>"));
  CHECK(is_generated("/src/app/<built-in>"));
  for (const char* path : {"", "<", "a.c", "/<x>/a.c", "a<b>.c"}) CHECK_FALSE(is_generated(path));
}

TEST_CASE("a standard library's functions by their names", "[symbols][library_files]") {
  for (const char* name : {"std::terminate()", "void std::sort<int*>(int*, int*)",
                           "runtime.mallocgc", "__gnu_cxx::new_allocator<int>::allocate"}) {
    INFO(name);
    CHECK(is_library_function(name));
  }
  for (const char* name : {"work", "app::std_sort(int)", "runtime", "stdlib::f()",
                           "app::run(std::vector<int>)", "main.main", "log.part.0"}) {
    INFO(name);
    CHECK_FALSE(is_library_function(name));
  }
}

}  // namespace
}  // namespace causalctl::symbols
