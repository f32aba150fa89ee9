// The coroutine type of simulated threads. A Task starts when it is awaited, and returns to its
// awaiter when it ends. The machine starts the outermost Task and resumes the innermost one.
#pragma once

#include <coroutine>
#include <utility>

namespace causalctl::sim {

class [[nodiscard]] Task {
 public:
  struct promise_type {
    std::coroutine_handle<> awaiter = std::noop_coroutine();

    struct Final {
      bool await_ready() const noexcept { return false; }
      std::coroutine_handle<> await_suspend(
          std::coroutine_handle<promise_type> ended) const noexcept {
        return ended.promise().awaiter;
      }
      void await_resume() const noexcept {}
    };

    Task get_return_object() {
      return Task(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    std::suspend_always initial_suspend() const noexcept { return {}; }
    Final final_suspend() const noexcept { return {}; }
    void return_void() const {}
    void unhandled_exception() const { throw; }  // to the machine, which resumed us
  };

  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Task& operator=(Task&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Task() {
    if (handle_) handle_.destroy();
  }

  std::coroutine_handle<> handle() const { return handle_; }
  bool done() const { return handle_.done(); }

  bool await_ready() const noexcept { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> awaiter) const noexcept {
    handle_.promise().awaiter = awaiter;
    return handle_;
  }
  void await_resume() const noexcept {}

 private:
  explicit Task(std::coroutine_handle<promise_type> handle) : handle_(handle) {}

  std::coroutine_handle<promise_type> handle_;
};

}  // namespace causalctl::sim
