// Frames that an XDP program picks, from memory of the source's own.
#pragma once

#include "host_memory.h"
#include "live_source.h"
#include "xdp_receiver.h"

namespace headrace {

class XdpSource : public LiveSource {
 public:
  explicit XdpSource(const std::string& argument) : XdpSource(XdpReceiver::link(argument)) {}

  Next next(RxFrame& frame) override;
  int waits_for() const override { return ended_ ? -1 : receiver_.descriptor(); }
  uint64_t missed() const override { return receiver_.dropped(); }
  void stop() override { receiver_.stop(); }

 private:
  static constexpr size_t kBytes = size_t{64} << 20;

  explicit XdpSource(const InterfaceLink& link) : LiveSource(link.shown), receiver_(link, memory(), kBytes) {}

  uint8_t* memory() {
    memory_.map(0, kBytes, false);
    return memory_.at(0, kBytes);
  }

  HostMemory memory_;
  XdpReceiver receiver_;
  const uint8_t* given_ = nullptr;  // the frame that the caller still has
  bool ended_ = false;
};

}  // namespace headrace
