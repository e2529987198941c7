// SPDX-License-Identifier: Apache-2.0
// Frames that an XDP program picks, from memory of the source's own.
#pragma once

#include "links/live_source.h"
#include "links/xdp_receiver.h"
#include "memory/host_memory.h"

namespace headrace {

class XdpSource : public LiveSource {
 public:
  explicit XdpSource(const std::string& argument) : XdpSource(XdpReceiver::link(argument)) {}

  Next next(RxFrame& frame) override;
  int waits_for() const override { return ended_ ? -1 : receiver_.descriptor(); }
  uint64_t missed() const override { return receiver_.dropped(); }
  uint64_t waiting() const override { return ended_ ? 0 : receiver_.waiting(); }
  void stop() override { receiver_.stop(); }

 private:
  explicit XdpSource(const InterfaceLink& link)
      : LiveSource(link.shown), receiver_(link, memory(XdpReceiver::buffer(link)), XdpReceiver::buffer(link)) {}

  uint8_t* memory(size_t bytes) {
    memory_.map(0, 0, bytes, false);
    return memory_.at(0, 0, bytes);
  }

  HostMemory memory_;
  XdpReceiver receiver_;
  const uint8_t* given_ = nullptr;  // the frame that the caller still has
  bool ended_ = false;
};

}  // namespace headrace
