// SPDX-License-Identifier: Apache-2.0
// What sources have in common whose frames come while the card runs.
#pragma once

#include <ctime>
#include <string>
#include <utility>

#include "links/source.h"

namespace headrace {

class LiveSource : public Source {
 public:
  bool live() const override { return true; }
  const std::string& fault() const override { return fault_; }
  std::optional<uint64_t> first_time_ns() override { return began_ns_; }

  static uint64_t clock_ns(clockid_t clock) {
    timespec now;
    ::clock_gettime(clock, &now);
    return static_cast<uint64_t>(now.tv_sec) * kNsPerSecond + static_cast<uint64_t>(now.tv_nsec);
  }

  static RecordTime record_time(uint64_t time_ns) {
    return {static_cast<int64_t>(time_ns / kNsPerSecond), static_cast<uint32_t>(time_ns % kNsPerSecond), true};
  }

 protected:
  // `shown`: the link in messages.
  explicit LiveSource(std::string shown) : shown_(std::move(shown)) {}

  const std::string& shown() const { return shown_; }
  Next broken(const std::string& reason) {
    fault_ = shown_ + ": " + reason;
    return Next::kEnd;
  }

 private:
  std::string shown_;
  std::string fault_;
  uint64_t began_ns_ = clock_ns(CLOCK_REALTIME);
};

}  // namespace headrace
