// SPDX-License-Identifier: Apache-2.0
#include "memory/xdp_packets.h"

namespace headrace {

XdpPackets::XdpPackets(const InterfaceLink& link, const PacketRange& range)
    : range_(range),
      receiver_(link, range.bytes, range.size - joined_bytes(range)),
      joined_(range.bytes + range.size - joined_bytes(range), joined_bytes(range)) {
  if (link.settings.has("buffer") && XdpReceiver::buffer(link) != range.size) {
    link.settings.refuse("buffer", "the memory for the packets has " + std::to_string(range.size) + " bytes");
  }
}

size_t XdpPackets::take(std::span<hr_packet> packets) {
  size_t count = 0;
  while (count < packets.size() && fetch()) {
    const std::optional<uint64_t> offset = place(*held_);
    if (!offset) return count;
    packets[count++] = {range_.address + *offset, held_->time_ns, held_->length, held_->length};
    taken_.push_back(range_.bytes + *offset);
    held_.reset();
  }
  if (count != 0 || ended_ || packets.empty()) return count;
  const std::string fault = receiver_.fault();
  ended_ = !fault.empty() || receiver_.stopped();
  if (!fault.empty()) throw Error(HR_ERROR_CAPTURE, receiver_.shown() + ": " + fault);
  return 0;
}

// Makes sure that the next packet is there; false: there is none now.
bool XdpPackets::fetch() {
  while (!held_) {
    XdpPacket packet;
    if (!receiver_.receive(packet)) return false;
    if (packet.joined && packet.length > joined_.size()) {
      ++too_long_;
    } else {
      held_ = packet;
    }
  }
  return true;
}

std::optional<uint64_t> XdpPackets::place(const XdpPacket& packet) {
  if (packet.joined) {
    const std::optional<uint64_t> at = joined_.place(packet.data, packet.length);
    if (!at) return std::nullopt;
    return range_.size - joined_.size() + *at;
  }
  return static_cast<uint64_t>(packet.data - range_.bytes);
}

void XdpPackets::release(size_t count) {
  check_release(count, taken_.size());
  const uint8_t* const joined = range_.bytes + range_.size - joined_.size();
  for (size_t n = 0; n < count; ++n) {
    if (taken_[n] < joined) {
      receiver_.release(taken_[n]);
    } else {
      joined_.release(1);
    }
  }
  taken_.erase(taken_.begin(), taken_.begin() + static_cast<std::ptrdiff_t>(count));
}

}  // namespace headrace
