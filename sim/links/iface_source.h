// SPDX-License-Identifier: Apache-2.0
// A copy of what a network interface receives and sends, or all of them ("any"), by libpcap:
// "iface:NAME[,direction=in][,promiscuous=no]...".
//
// Packets wait in a ring that the kernel shares with libpcap. Not in libpcap's immediate mode, in which each packet
// takes a slot as large as the largest one: the kernel hands over blocks of packets, full or not, after some time. So
// where packets are few, the ring holds as many seconds as its blocks take: by default at least kHeldMs.
#pragma once

#include <optional>
#include <string>

#include "links/capture.h"
#include "links/interface.h"
#include "links/link_settings.h"
#include "links/live_source.h"

namespace headrace {

class IfaceSource : public LiveSource {
 public:
  static InterfaceLink link(const std::string& argument) {
    return {"iface", argument, {"direction", "promiscuous", "buffer", "timeout", "linktype"}};
  }

  // Throws Error when there is no such interface, or it can't be captured from.
  explicit IfaceSource(const std::string& argument) : IfaceSource(link(argument)) {}

  Next next(RxFrame& frame) override;
  std::optional<CaptureFormat> format() const override { return capture_->format(); }
  int waits_for() const override { return ended_ ? -1 : pcap_get_selectable_fd(capture_->handle()); }
  uint64_t missed() const override;
  uint64_t waiting() const override;
  void stop() override;

 private:
  static constexpr uint64_t kHeldMs = 8000;

  explicit IfaceSource(const InterfaceLink& link);

  void close(const std::string& reason);

  Interface interface_;
  bool any_;  // all interfaces
  int block_ms_;
  std::optional<Capture> capture_;
  uint32_t given_ = 0;    // frames
  bool closing_ = false;  // what is in the ring is all that still comes
  std::string reason_;    // for closing; "": it was asked to
  bool ended_ = false;
};

}  // namespace headrace
