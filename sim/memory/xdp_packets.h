// SPDX-License-Identifier: Apache-2.0
// Packets of an XDP program, where the kernel puts them: most of the range is the sockets' own buffer memory (UMEM).
// Packets that come in several chunks are put together in the rest.
#pragma once

#include <deque>
#include <optional>

#include "links/xdp_receiver.h"
#include "memory/packet_memory.h"
#include "memory/packet_ring.h"

namespace headrace {

class XdpPackets : public PacketMemory {
 public:
  // Throws Error, also where the link asks for another size of the memory.
  XdpPackets(const std::string& argument, const PacketRange& range) : XdpPackets(XdpReceiver::link(argument), range) {}

  size_t take(std::span<hr_packet> packets) override;
  void release(size_t count) override;
  hr_packets_state state() const override {
    const bool full = held_ && !joined_.has_room(held_->length);
    return {receiver_.dropped() + too_long_,
            receiver_.waiting() + held_.has_value(),
            taken_.size(),
            ended_,
            full,
            full || ended_ ? -1 : receiver_.descriptor()};
  }
  void stop() override { receiver_.stop(); }

 private:
  static constexpr uint64_t kPage = 4096;

  XdpPackets(const InterfaceLink& link, const PacketRange& range);

  static uint64_t joined_bytes(const PacketRange& range) { return range.size / 4 / kPage * kPage; }
  bool fetch();
  std::optional<uint64_t> place(const XdpPacket& packet);

  PacketRange range_;
  XdpReceiver receiver_;
  PacketRing joined_;
  std::optional<XdpPacket> held_;     // waits for room
  std::deque<const uint8_t*> taken_;  // where the packets lie, the oldest first
  uint64_t too_long_ = 0;
  bool ended_ = false;
};

}  // namespace headrace
