// SPDX-License-Identifier: Apache-2.0
// Adds the wall time of a scope to a total.
#pragma once

#include <chrono>

namespace headrace {

class WallTimer {
 public:
  using Clock = std::chrono::steady_clock;

  explicit WallTimer(std::chrono::nanoseconds& total) : total_(total) {}
  ~WallTimer() { total_ += Clock::now() - start_; }
  WallTimer(const WallTimer&) = delete;
  WallTimer& operator=(const WallTimer&) = delete;

  std::chrono::nanoseconds passed() const { return Clock::now() - start_; }

 private:
  std::chrono::nanoseconds& total_;
  Clock::time_point start_ = Clock::now();
};

}  // namespace headrace
