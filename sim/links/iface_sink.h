// SPDX-License-Identifier: Apache-2.0
// Sends frames by a network interface, as a packet socket does (packet(7)). It takes the same link as the source that
// receives there, whose settings are the source's alone.
#pragma once

#include <string>

#include "links/descriptor.h"
#include "links/link_settings.h"
#include "links/live_sink.h"

namespace headrace {

class IfaceSink : public LiveSink {
 public:
  // Throws Error when there is no such interface, or it can't be sent by.
  explicit IfaceSink(const InterfaceLink& link);

 private:
  int send(std::span<const uint8_t> frame) override;
  bool loses(int error) const override;

  Descriptor socket_;
};

}  // namespace headrace
