#include "controller/causal/analysis/start_up.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace causalctl::causal {
namespace {

constexpr std::array<std::string_view, 23> kOfC = {
    "_start", "_start_c", "__libc_start_main", "__libc_start_main_impl", "__libc_start_call_main",
    "libc_start_main_stage2", "start_thread", "clone", "__clone", "clone3", "__clone3",
    // C++'s std::thread, and sanitizers
    "execute_native_thread_routine", "asan_thread_start", "__tsan_thread_start_func",
    "__asan::AsanThread::ThreadStart",
    // thread libraries
    "g_thread_proxy", "g_thread_pool_thread_proxy", "uv__thread_start",
    "boost::(anonymous namespace)::thread_proxy", "QThreadPrivate::start", "gomp_thread_start",
    "__kmp_launch_worker", "__kmp_launch_thread"};

constexpr std::array<std::string_view, 47> kOfLanguages = {
    // Go; with internal linking static functions of cgo have the name of their section
    "_rt0_amd64", "_rt0_amd64_linux", "_rt0_amd64_lib", "_rt0_amd64_linux_lib", "_rt0_amd64_lib_go",
    "runtime.rt0_go", "runtime.main", "runtime.goexit", "runtime.mstart", "crosscall_amd64",
    "crosscall1", "crosscall2", "threadentry", "x_cgo_init", "x_cgo_thread_start",
    "x_cgo_sys_thread_create", "_cgo_sys_thread_start", "_cgo_try_pthread_create",
    "_cgo_wait_runtime_init_done", "x_cgo_notify_runtime_init_done", "runtime/cgo(.text)",
    // OCaml, D, Haskell, Nim
    "caml_main", "caml_startup", "caml_startup_exn", "caml_startup_common", "caml_start_program",
    "caml_program", "caml_thread_start", "domain_thread_func", "_d_run_main", "_d_run_main2",
    "thread_entryPoint", "hs_main", "NimMain", "NimMainInner",
    // Python, node, Java
    "Py_BytesMain", "Py_Main", "Py_RunMain", "pymain_run_python", "pythread_wrapper", "node::Start",
    "JavaMain", "ThreadJavaMain", "thread_native_entry", "Thread::call_run", "JavaThread::run",
    "JavaThread::thread_main_inner"};

// Names that users' functions may have, too: musl's, those of APR, SDL and others.
constexpr std::array<std::string_view, 8> kOrdinary = {
    "start",        "start_c11",  "dummy_worker", "RunThread",
    "thread_start", "thread_run", "thread_entry", "thread_proxy"};

// Closures, copies and instances of templates have more in their names, as in
// "std::rt::lang_start::{{closure}}".
struct Family {
  std::string_view scope;  // the name begins with it
  std::string_view part;   // and contains this
};
constexpr std::array kFamilies = {Family{"std::", "::lang_start"},
                                  Family{"std::", "::__rust_begin_short_backtrace"},
                                  Family{"std::sys::", "::thread_start"},  // Rust
                                  Family{"std::thread::", "::spawn_unchecked"},
                                  Family{"<std::sys::", "::thread_start"},
                                  Family{"void* std::", "::__thread_proxy"},  // libc++
                                  Family{"std::thread::_State_impl<", "::_M_run"},
                                  Family{"tbb::", "::rml::private_worker::"},
                                  Family{"rt.dmain2.", "_d_run_main2"},  // D
                                  Family{"core.thread.osthread.", "thread_entryPoint"}};

// Returns whether `function` has one of the names, with or without parameters.
template <std::size_t N>
bool is_one_of(const std::array<std::string_view, N>& names, std::string_view function) {
  return std::any_of(names.begin(), names.end(), [&](std::string_view name) {
    return function.starts_with(name) &&
           (function.size() == name.size() || function[name.size()] == '(');
  });
}

}  // namespace

bool is_start_up(std::string_view function) {
  const bool of_family = std::any_of(kFamilies.begin(), kFamilies.end(), [&](const Family& family) {
    return function.starts_with(family.scope) && function.find(family.part) != function.npos;
  });
  return of_family || is_one_of(kOfC, function) || is_one_of(kOfLanguages, function);
}

bool is_start_up(const UnitSamples& samples) {
  const std::string& function = samples.unit.function;
  if (is_start_up(function)) return true;
  // Users have debug information more often than libraries do, and their functions run themselves.
  return samples.unit.file.empty() && samples.inherited == samples.count &&
         is_one_of(kOrdinary, function);
}

}  // namespace causalctl::causal
