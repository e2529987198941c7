// SPDX-License-Identifier: Apache-2.0
// Which capture record came in at which time: lets a sink give a packet the recorded time of its record.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "wire/frame.h"

namespace headrace {

// The last kDepth arrivals of a port, in order of time.
class Arrivals {
 public:
  void note(uint64_t time_ns, const RecordTime& record) {
    if (entries_.empty()) entries_.resize(kDepth);
    entries_[count_ % kDepth] = {time_ns, record};
    ++count_;
  }

  // The record that arrived at a time. `hint` is where the caller found its last one: packets mostly come in order.
  std::optional<RecordTime> find(uint64_t time_ns, uint64_t& hint) const {
    const uint64_t oldest = count_ > kDepth ? count_ - kDepth : 0;
    for (uint64_t at = std::max(hint, oldest); at < count_ && at < hint + kNear; ++at) {
      if (entry(at).time_ns == time_ns) return found(at, hint);
    }
    uint64_t low = oldest, high = count_;
    while (low < high) {
      const uint64_t middle = (low + high) / 2;
      if (entry(middle).time_ns < time_ns) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    if (low == count_ || entry(low).time_ns != time_ns) return std::nullopt;
    return found(low, hint);
  }

 private:
  static constexpr uint64_t kDepth = uint64_t{1} << 18;
  static constexpr uint64_t kNear = 8;

  struct Entry {
    uint64_t time_ns;
    RecordTime record;
  };

  const Entry& entry(uint64_t at) const { return entries_[at % kDepth]; }

  RecordTime found(uint64_t at, uint64_t& hint) const {
    hint = at;
    return entry(at).record;
  }

  std::vector<Entry> entries_;
  uint64_t count_ = 0;
};

}  // namespace headrace
