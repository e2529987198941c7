// SPDX-License-Identifier: Apache-2.0
// Gives frames to the host, as what a TAP device receives.
#pragma once

#include <memory>

#include "links/live_sink.h"
#include "links/tap_device.h"

namespace headrace {

class TapSink : public LiveSink {
 public:
  explicit TapSink(std::shared_ptr<TapDevice> device) : LiveSink(device->shown()), device_(std::move(device)) {}

 private:
  int send(std::span<const uint8_t> frame) override;
  bool loses(int error) const override;

  std::shared_ptr<TapDevice> device_;
};

}  // namespace headrace
