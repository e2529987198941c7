// SPDX-License-Identifier: Apache-2.0
// The ranges of host memory that packets are put into, by handle.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "links/links.h"
#include "memory/kept_times.h"
#include "memory/packet_memory.h"

namespace headrace {

class PacketMemories {
 public:
  PacketMemories(HostMemory& memory, Links& links) : memory_(memory), links_(links) {}

  // Maps the range and gives a handle; `keep_times`: what times() finds again stands in for some of the packets' times.
  // Throws Error.
  int open(const std::string& link, uint64_t address, uint64_t size, bool keep_times);
  KeptTimes& times() { return times_; }
  // Throws Error when nothing is open by that handle.
  PacketMemory& at(int handle) const;
  void close(int handle);
  void stop();
  std::optional<CaptureFormat> format() const;

 private:
  struct Open {
    uint64_t address;
    std::unique_ptr<PacketMemory> packets;
  };

  HostMemory& memory_;
  Links& links_;
  KeptTimes times_;
  std::map<int, Open> open_;
  int next_ = 0;
};

}  // namespace headrace
