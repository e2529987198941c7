#include "xdp_packets.h"

namespace headrace {

size_t XdpPackets::take(std::span<hr_packet> packets) {
  size_t count = 0;
  XdpPacket packet;
  while (count < packets.size() && receiver_.receive(packet)) {
    const auto offset = static_cast<uint64_t>(packet.data - range_.bytes);
    packets[count++] = {range_.address + offset, packet.time_ns, packet.length, packet.length};
    taken_.push_back(packet.data);
  }
  if (count != 0 || ended_) return count;
  const std::string fault = receiver_.fault();
  ended_ = !fault.empty() || receiver_.stopped();
  if (!fault.empty()) throw Error(HR_ERROR_CAPTURE, receiver_.shown() + ": " + fault);
  return 0;
}

void XdpPackets::release(size_t count) {
  check_release(count, taken_.size());
  for (size_t n = 0; n < count; ++n) receiver_.release(taken_[n]);
  taken_.erase(taken_.begin(), taken_.begin() + static_cast<std::ptrdiff_t>(count));
}

}  // namespace headrace
