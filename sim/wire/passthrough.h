// SPDX-License-Identifier: Apache-2.0
// Checks that what comes in at one port goes out of another untouched and in order, and measures how long it takes.
#pragma once

#include <algorithm>
#include <cstring>
#include <deque>
#include <vector>

#include "headrace.h"
#include "wire/clock.h"
#include "wire/frame.h"

namespace headrace {

class Passthrough {
 public:
  Passthrough(unsigned source, unsigned destination) : source_(source), destination_(destination) {}

  unsigned source() const { return source_; }
  unsigned destination() const { return destination_; }

  void first_in(Cycle now) { first_in_ = now; }

  void came_in(const RxFrame& frame, uint32_t given) {
    waiting_.push_back({first_in_, spare()});
    waiting_.back().bytes.assign(frame.data, frame.data + given);
  }

  void went_out(const TxFrame& frame, Cycle first_out) {
    if (waiting_.empty()) {
      ++mismatches_;
      return;
    }
    Waiting& expected = waiting_.front();
    const bool same = frame.length == expected.bytes.size() &&
                      (frame.length == 0 || std::memcmp(frame.data, expected.bytes.data(), frame.length) == 0);
    if (same) {
      const auto latency = static_cast<uint64_t>(first_out - expected.first_in);
      latency_min_ = frames_ == 0 ? latency : std::min(latency_min_, latency);
      latency_max_ = frames_ == 0 ? latency : std::max(latency_max_, latency);
      ++frames_;
    } else {
      ++mismatches_;
    }
    spares_.push_back(std::move(expected.bytes));
    waiting_.pop_front();
  }

  hr_passthrough_stats stats() const {
    return {source_, destination_, frames_, mismatches_, waiting_.size(), latency_min_, latency_max_};
  }

 private:
  struct Waiting {
    Cycle first_in;
    std::vector<uint8_t> bytes;
  };

  std::vector<uint8_t> spare() {
    if (spares_.empty()) return {};
    std::vector<uint8_t> bytes = std::move(spares_.back());
    spares_.pop_back();
    return bytes;
  }

  unsigned source_;
  unsigned destination_;
  Cycle first_in_ = 0;
  std::deque<Waiting> waiting_;
  std::vector<std::vector<uint8_t>> spares_;
  uint64_t frames_ = 0;
  uint64_t mismatches_ = 0;
  uint64_t latency_min_ = 0;
  uint64_t latency_max_ = 0;
};

}  // namespace headrace
