// SPDX-License-Identifier: Apache-2.0
// Packets in host memory, put there by a source: what a card fetches by itself.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "error.h"
#include "headrace.h"
#include "links/source.h"
#include "memory/host_memory.h"

namespace headrace {

// The range of host memory that the packets lie in.
struct PacketRange {
  uint64_t address;
  uint64_t size;
  uint8_t* bytes;
};

class PacketMemory {
 public:
  virtual ~PacketMemory() = default;

  // Puts in packets that have come, and says where they lie; gives their number. Throws Error once the source has
  // broken off and all before that has been taken.
  virtual size_t take(std::span<hr_packet> packets) = 0;
  // The memory of the oldest packets taken may be used again. Throws Error when there aren't as many.
  virtual void release(size_t count) = 0;
  virtual hr_packets_state state() const = 0;
  virtual void stop() = 0;
  // What the headers of the captures say that the packets come from.
  virtual std::optional<CaptureFormat> format() const { return std::nullopt; }

 protected:
  static void check_release(size_t count, size_t taken) {
    if (count <= taken) return;
    throw Error(HR_ERROR_USAGE,
                std::to_string(count) + " packets to release, but " + std::to_string(taken) + " are taken");
  }
};

}  // namespace headrace
