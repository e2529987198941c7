// SPDX-License-Identifier: Apache-2.0
#include "memory/packet_memories.h"

namespace headrace {
namespace {

constexpr uint16_t kFunction = 0;  // that the packets are for

}  // namespace

int PacketMemories::open(const std::string& link, uint64_t address, uint64_t size, bool keep_times) {
  memory_.map(kFunction, address, size, true);
  try {
    const PacketRange range{address, size, memory_.at(kFunction, address, size)};
    open_[next_] = {address, links_.packets(link, range, keep_times ? &times_ : nullptr)};
  } catch (...) {
    memory_.unmap(kFunction, address);
    open_.erase(next_);
    throw;
  }
  return next_++;
}

PacketMemory& PacketMemories::at(int handle) const {
  const auto found = open_.find(handle);
  if (found == open_.end()) throw Error(HR_ERROR_USAGE, "no packet memory is open by this handle");
  return *found->second.packets;
}

void PacketMemories::close(int handle) {
  at(handle);
  const uint64_t address = open_[handle].address;
  open_.erase(handle);
  memory_.unmap(kFunction, address);
}

std::optional<CaptureFormat> PacketMemories::format() const {
  for (const auto& [handle, open] : open_) {
    if (const auto found = open.packets->format()) return found;
  }
  return std::nullopt;
}

void PacketMemories::stop() {
  for (auto& [handle, open] : open_) open.packets->stop();
}

}  // namespace headrace
