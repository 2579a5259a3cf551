#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace nki::inline v0_1::tune {

/// Threads that share the pieces of one job after another.
class Workers {
 public:
  explicit Workers(int threads) {
    for (int i = 1; i < threads; ++i) threads_.emplace_back([this] { serve(); });
  }
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;
  ~Workers() {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    job_ready_.notify_all();
    for (std::thread& t : threads_) t.join();
  }

  /// Calls piece(0) .. piece(n - 1), each once, on any thread; returns when all have ended. `piece` throws nothing.
  void run(std::size_t n, const std::function<void(std::size_t)>& piece) {
    if (threads_.empty() || n < 2) {
      for (std::size_t i = 0; i < n; ++i) piece(i);
      return;
    }
    {
      const std::lock_guard lock(mutex_);
      piece_ = &piece;
      pieces_ = n;
      next_ = 0;
      working_ = threads_.size();
      ++job_;
    }
    job_ready_.notify_all();
    work();
    std::unique_lock lock(mutex_);
    job_done_.wait(lock, [this] { return working_ == 0; });
  }

 private:
  void work() {
    for (std::size_t i = next_++; i < pieces_; i = next_++) (*piece_)(i);
  }
  void serve() {
    std::size_t seen = 0;
    while (true) {
      {
        std::unique_lock lock(mutex_);
        job_ready_.wait(lock, [&] { return ending_ || job_ != seen; });
        if (ending_) return;
        seen = job_;
      }
      work();
      const std::lock_guard lock(mutex_);
      if (--working_ == 0) job_done_.notify_one();
    }
  }

  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::condition_variable job_ready_, job_done_;
  const std::function<void(std::size_t)>* piece_ = nullptr;
  std::size_t pieces_ = 0, working_ = 0, job_ = 0;
  std::atomic<std::size_t> next_{0};
  bool ending_ = false;
};

}  // namespace nki::inline v0_1::tune
