#include "controller/base/aside.h"

#include <pthread.h>

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace causalctl {

struct Aside::State {
  struct Job {
    std::function<void()> work;
    std::size_t bytes = 0;
  };
  std::mutex mutex;
  std::condition_variable given;
  std::condition_variable done;
  std::deque<Job> jobs;  // the first one is being done
  std::size_t bytes = 0;
  bool has_thread = false;
  bool closed = false;

  void run() {
    std::unique_lock lock(mutex);
    for (;;) {
      given.wait(lock, [this] { return closed || !jobs.empty(); });
      if (jobs.empty()) return;
      const std::function<void()> work = std::move(jobs.front().work);
      lock.unlock();
      work();
      lock.lock();
      bytes -= jobs.front().bytes;
      jobs.pop_front();
      done.notify_all();
    }
  }
};

namespace {

// Without signals: those of this process have their own threads, and SIGTTOU must not stop it.
bool start(const std::function<void()>& body) {
  sigset_t every, before;
  sigfillset(&every);
  pthread_sigmask(SIG_SETMASK, &every, &before);
  bool started = true;
  try {
    std::thread(body).detach();
  } catch (const std::system_error&) {
    started = false;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return started;
}

}  // namespace

Aside::Aside() : state_(std::make_shared<State>()) {}

Aside::~Aside() {
  const std::lock_guard lock(state_->mutex);
  state_->closed = true;
  state_->given.notify_one();
}

void Aside::give(std::function<void()> job, std::size_t bytes) {
  std::unique_lock lock(state_->mutex);
  if (!state_->has_thread) {
    state_->has_thread = start([state = state_] { state->run(); });
  }
  if (!state_->has_thread) {
    lock.unlock();
    return job();
  }
  state_->jobs.push_back({std::move(job), bytes});
  state_->bytes += bytes;
  state_->given.notify_one();
}

bool Aside::wait(Nanoseconds patience_ns) const {
  std::unique_lock lock(state_->mutex);
  const auto none_left = [this] { return state_->jobs.empty(); };
  if (patience_ns != kForEver) {
    return state_->done.wait_for(lock, std::chrono::nanoseconds(patience_ns), none_left);
  }
  state_->done.wait(lock, none_left);
  return true;
}

std::size_t Aside::jobs() const {
  const std::lock_guard lock(state_->mutex);
  return state_->jobs.size();
}

std::size_t Aside::bytes() const {
  const std::lock_guard lock(state_->mutex);
  return state_->bytes;
}

}  // namespace causalctl
