// SPDX-License-Identifier: Apache-2.0
// What an XDP program picks out of an interface's packets: "xdp:NAME[,queue=N][,program=FILE.o][,buffer=MIB]".
//
// A socket for each receive queue; they share the memory in equal parts, chunks for a packet each. Longer packets come
// in several chunks, where the kernel has that; elsewhere an interface that may receive such is refused.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "links/descriptor.h"
#include "links/interface.h"
#include "links/link_settings.h"

namespace headrace {

class XdpProgram;  // not their headers: libbpf's and libpcap's can't be included together
class XdpSocket;

struct XdpPacket {
  const uint8_t* data;
  uint32_t length;
  uint64_t time_ns;
  bool joined;  // from several chunks: in memory of the receiver's own, until the next one
};

class XdpReceiver {
 public:
  // Throws Error.
  static InterfaceLink link(const std::string& argument) { return {"xdp", argument, {"queue", "program", "buffer"}}; }

  // Bytes of memory that the link asks for.
  static size_t buffer(const InterfaceLink& link) {
    return link.settings.number("buffer", 1, 1 << 16).value_or(kBufferMiB) << 20;
  }

  // `memory` is whole pages, which outlive this. Throws Error.
  XdpReceiver(const InterfaceLink& link, uint8_t* memory, size_t size);
  ~XdpReceiver();

  const std::string& shown() const { return shown_; }
  // The next packet. Its memory isn't used again before release(), unless it is joined: that isn't released.
  bool receive(XdpPacket& packet);
  void release(const uint8_t* data);
  // Picks nothing more: the interface's packets go to their owner again.
  void stop();
  bool stopped() const { return stopped_; }

  // Becomes readable with a packet, and when something is wrong.
  int descriptor() const { return any_.number(); }
  uint64_t dropped() const;
  // Packets that are there, or their parts.
  uint64_t waiting() const;
  // Why no more packets come; "" while they may.
  std::string fault() const;

 private:
  static constexpr uint64_t kBufferMiB = 256;

  void require_short_packets(uint32_t longest) const;
  void join(XdpSocket& socket, XdpPacket& packet);
  uint64_t time_of(uint8_t* data);
  static int64_t day_now();

  std::string shown_;
  Interface interface_;
  uint8_t* memory_;
  size_t part_ = 0;  // bytes of a socket
  std::vector<std::unique_ptr<XdpSocket>> sockets_;
  std::unique_ptr<XdpProgram> program_;
  Descriptor any_;
  std::vector<uint8_t> joined_;
  size_t turn_ = 0;
  uint64_t began_ns_ = 0;
  int64_t day_ns_ = 0;  // from the monotonic clock to the time of day
  bool stopped_ = false;
};

}  // namespace headrace
