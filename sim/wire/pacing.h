// SPDX-License-Identifier: Apache-2.0
// When a source offers its frames: as fast as the line takes them, at the times they were recorded, or at a given rate.
#pragma once

#include <algorithm>
#include <optional>

#include "wire/clock.h"
#include "wire/frame.h"

namespace headrace {

class Pacing {
 public:
  static Pacing line() { return Pacing(); }

  static Pacing rate(uint64_t bits_per_second, const Clock& clock) {
    Pacing pacing;
    pacing.rate_.emplace(bits_per_second, clock.hz());
    return pacing;
  }

  // Records that lie ahead of the card's time are offered at their time; a capture that begins in the past is played
  // from now on, with its intervals kept.
  static Pacing recorded(uint64_t first_ns, const Clock& clock) {
    Pacing pacing;
    pacing.clock_ = &clock;
    pacing.shift_ns_ = clock.ns() > first_ns ? clock.ns() - first_ns : 0;
    return pacing;
  }

  // Whether the line is the only limit, so that frames follow each other with the shortest gap.
  bool is_line(uint64_t line_rate) const {
    return clock_ == nullptr && (!rate_ || rate_->bits_per_second() >= line_rate);
  }

  // Frames come again after a time without any: what was not sent then is not made up for.
  void resume(Cycle now) {
    if (next_.cycle < now) next_ = {now, 0};
  }

  // The first cycle in which the frame may start.
  Cycle earliest(const RxFrame& frame) {
    if (rate_) {
      const Cycle start = next_.next_cycle();
      next_ = rate_->after(next_, wire_bytes(frame.length));
      return start;
    }
    if (clock_ != nullptr && frame.has_time) return clock_->cycle_at(time_ns(frame.time) + shift_ns_);
    return 0;
  }

  static uint64_t time_ns(const RecordTime& time) {
    // libpcap gives the 32 bits of a file as signed: from 2038 on they are below 0.
    const uint64_t seconds =
        time.seconds < 0 ? static_cast<uint32_t>(time.seconds) : static_cast<uint64_t>(time.seconds);
    return seconds * kNsPerSecond + uint64_t{static_cast<uint32_t>(time.fraction)} * (time.nanoseconds ? 1 : 1000);
  }

 private:
  Pacing() = default;

  const Clock* clock_ = nullptr;
  uint64_t shift_ns_ = 0;
  std::optional<WireRate> rate_;
  WireTime next_;
};

}  // namespace headrace
