// SPDX-License-Identifier: Apache-2.0
#include "links/xdp_source.h"

namespace headrace {

Next XdpSource::next(RxFrame& frame) {
  if (given_ != nullptr) receiver_.release(given_);
  given_ = nullptr;
  if (ended_) return Next::kEnd;
  XdpPacket packet;
  if (receiver_.receive(packet)) {
    if (!packet.joined) given_ = packet.data;
    frame = {packet.data, packet.length, 0, false, false, true, record_time(packet.time_ns)};
    return Next::kFrame;
  }
  const std::string fault = receiver_.fault();
  if (fault.empty() && !receiver_.stopped()) return Next::kNotYet;
  ended_ = true;
  return fault.empty() ? Next::kEnd : broken(fault);
}

}  // namespace headrace
