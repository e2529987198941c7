// What an XDP program picks out of an interface's packets: "xdp:NAME[,queue=N][,program=FILE.o]".
//
// A socket for each receive queue; they share the memory in equal parts.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "descriptor.h"
#include "interface.h"
#include "link_settings.h"

namespace headrace {

class XdpProgram;  // not their headers: libbpf's and libpcap's can't be included together
class XdpSocket;

struct XdpPacket {
  const uint8_t* data;
  uint32_t length;
  uint64_t time_ns;
};

class XdpReceiver {
 public:
  // Throws Error.
  static InterfaceLink link(const std::string& argument) { return {"xdp", argument, {"queue", "program"}}; }

  // `memory` is whole pages, which outlive this. Throws Error.
  XdpReceiver(const InterfaceLink& link, uint8_t* memory, size_t size);
  ~XdpReceiver();

  const std::string& shown() const { return shown_; }
  // The next packet. Its memory isn't used again before release().
  bool receive(XdpPacket& packet);
  void release(const uint8_t* data);
  // Picks nothing more: the interface's packets go to their owner again.
  void stop();
  bool stopped() const { return stopped_; }

  // Becomes readable with a packet, and when something is wrong.
  int descriptor() const { return any_.number(); }
  uint64_t dropped() const;
  // Why no more packets come; "" while they may.
  std::string fault() const;

 private:
  uint64_t time_of(uint8_t* data);
  static int64_t day_now();

  std::string shown_;
  Interface interface_;
  uint8_t* memory_;
  size_t part_ = 0;  // bytes of a socket
  std::vector<std::unique_ptr<XdpSocket>> sockets_;
  std::unique_ptr<XdpProgram> program_;
  Descriptor any_;
  size_t turn_ = 0;
  uint64_t began_ns_ = 0;
  int64_t day_ns_ = 0;  // from the monotonic clock to the time of day
  bool stopped_ = false;
};

}  // namespace headrace
