// SPDX-License-Identifier: Apache-2.0
// Times of records that nanoseconds since the epoch can't tell: a fraction of a second or more, seconds beyond 32 bits.
// A packet with such a time goes through the card with a stand-in, by which its record finds the time again. Stand-ins
// are times in the epoch's first second; so a packet that is from then gets one, too.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>

#include "error.h"
#include "wire/pacing.h"

namespace headrace {

class KeptTimes {
 public:
  // The time that a packet goes through the card with. Packets are kept in the order in which their records come.
  uint64_t keep(const RecordTime& time) {
    const uint64_t exact = Pacing::time_ns(time);
    if (plain(time) && exact >= kStandIns) return exact;
    kept_.push_back(time);
    if (kept_.size() == kMost) forget(1);
    return (first_ + kept_.size() - 1) % kStandIns;
  }

  // The time of a record; those kept before it are needed no more. Throws Error where it is not kept any more.
  RecordTime find(const RecordTime& record) {
    const uint64_t at = Pacing::time_ns(record);
    if (at >= kStandIns) return record;
    const uint64_t since = (at + kStandIns - first_ % kStandIns) % kStandIns;
    if (since >= kept_.size()) throw Error(HR_ERROR_CAPTURE, "the time of a record in the capture ring is lost");
    forget(since);
    return kept_.front();
  }

 private:
  static constexpr uint64_t kStandIns = kNsPerSecond;
  static constexpr size_t kMost = size_t{1} << 20;  // far more than are ever on their way through a card

  static bool plain(const RecordTime& time) {
    const uint64_t unit = time.nanoseconds ? kNsPerSecond : kNsPerSecond / 1000;
    return time.seconds >= std::numeric_limits<int32_t>::min() &&
           time.seconds <= int64_t{std::numeric_limits<uint32_t>::max()} && static_cast<uint64_t>(time.fraction) < unit;
  }

  void forget(uint64_t count) {
    kept_.erase(kept_.begin(), kept_.begin() + static_cast<std::ptrdiff_t>(count));
    first_ += count;
  }

  std::deque<RecordTime> kept_;
  uint64_t first_ = 0;  // number of the first of them
};

}  // namespace headrace
