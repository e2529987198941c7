// SPDX-License-Identifier: Apache-2.0
// Exact time without drift: the card's clock in cycles and nanoseconds, and places on a wire in fractions of a cycle.
#pragma once

#include <cstdint>
#include <limits>

namespace headrace {

using Cycle = int64_t;
inline constexpr Cycle kNever = std::numeric_limits<Cycle>::max();
inline constexpr uint64_t kNsPerSecond = 1'000'000'000;

// Cycle c happens start_ns + c / hz after the epoch; ns() is that rounded down.
class Clock {
 public:
  Clock(uint64_t hz, uint64_t start_ns)
      : hz_(hz), start_ns_(start_ns), ns_(start_ns), step_ns_(kNsPerSecond / hz), step_rest_(kNsPerSecond % hz) {}

  uint64_t hz() const { return hz_; }
  Cycle cycle() const { return cycle_; }
  uint64_t ns() const { return ns_; }

  void tick() {
    ++cycle_;
    ns_ += step_ns_;
    rest_ += step_rest_;
    if (rest_ >= hz_) {
      rest_ -= hz_;
      ++ns_;
    }
  }

  void jump(Cycle to) {
    cycle_ = to;
    const auto scaled = static_cast<unsigned __int128>(to) * kNsPerSecond;
    ns_ = start_ns_ + static_cast<uint64_t>(scaled / hz_);
    rest_ = static_cast<uint64_t>(scaled % hz_);
  }

  // Sets the time of day from this cycle on.
  void set_ns(uint64_t ns) {
    start_ns_ += ns - ns_;
    ns_ = ns;
  }

  // The time of a cycle.
  uint64_t ns_at(Cycle cycle) const { return start_ns_ + ns_in(static_cast<uint64_t>(cycle)); }

  // The first cycle at or after a time.
  Cycle cycle_at(uint64_t ns) const {
    const auto since_start = static_cast<int64_t>(ns - start_ns_);
    return since_start <= 0 ? 0 : cycles_in(static_cast<uint64_t>(since_start));
  }

  // Cycles that cover a duration, rounded up.
  Cycle cycles_in(uint64_t duration_ns) const {
    const auto scaled = static_cast<unsigned __int128>(duration_ns) * hz_ + kNsPerSecond - 1;
    const auto cycles = scaled / kNsPerSecond;
    return cycles >= static_cast<unsigned __int128>(kNever) ? kNever - 1 : static_cast<Cycle>(cycles);
  }

  uint64_t ns_in(uint64_t cycles) const {
    return static_cast<uint64_t>(static_cast<unsigned __int128>(cycles) * kNsPerSecond / hz_);
  }

 private:
  uint64_t hz_;
  uint64_t start_ns_;
  uint64_t ns_;
  uint64_t step_ns_;
  uint64_t step_rest_;
  uint64_t rest_ = 0;
  Cycle cycle_ = 0;
};

// A place in time on a wire: cycle + part / rate, with the rate in bits per second.
struct WireTime {
  Cycle cycle = 0;
  uint64_t part = 0;

  Cycle next_cycle() const { return cycle + (part != 0); }
};

// How long bytes take on a wire, in card cycles.
class WireRate {
 public:
  WireRate(uint64_t bits_per_second, uint64_t clock_hz) : rate_(bits_per_second), byte_(8 * clock_hz) {}

  uint64_t bits_per_second() const { return rate_; }

  WireTime after(WireTime from, uint64_t bytes) const {
    const auto part = static_cast<unsigned __int128>(bytes) * byte_ + from.part;
    if (part >> 64) {
      return {from.cycle + static_cast<Cycle>(part / rate_), static_cast<uint64_t>(part % rate_)};
    }
    const auto low = static_cast<uint64_t>(part);
    return {from.cycle + static_cast<Cycle>(low / rate_), low % rate_};
  }

  // Cycles that the bytes take, rounded up.
  Cycle cycles(uint64_t bytes) const { return after({}, bytes).next_cycle(); }

 private:
  uint64_t rate_;
  uint64_t byte_;
};

}  // namespace headrace
