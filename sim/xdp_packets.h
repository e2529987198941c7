// Packets of an XDP program, where the kernel puts them: the range is the sockets' own buffer memory (UMEM).
#pragma once

#include <deque>

#include "packet_memory.h"
#include "xdp_receiver.h"

namespace headrace {

class XdpPackets : public PacketMemory {
 public:
  XdpPackets(const std::string& argument, const PacketRange& range)
      : range_(range), receiver_(XdpReceiver::link(argument), range.bytes, range.size) {}

  size_t take(std::span<hr_packet> packets) override;
  void release(size_t count) override;
  hr_packets_state state() const override {
    return {receiver_.dropped(), taken_.size(), ended_, false, ended_ ? -1 : receiver_.descriptor()};
  }
  void stop() override { receiver_.stop(); }

 private:
  PacketRange range_;
  XdpReceiver receiver_;
  std::deque<const uint8_t*> taken_;
  bool ended_ = false;
};

}  // namespace headrace
