// SPDX-License-Identifier: Apache-2.0
// Gives frames to the host, as what a TAP device receives. They are lost while that is down, and when it has gone.
#pragma once

#include <memory>

#include "links/sink.h"
#include "links/tap_device.h"

namespace headrace {

class TapSink : public Sink {
 public:
  explicit TapSink(std::shared_ptr<TapDevice> device) : device_(std::move(device)) {}

  // Throws Error when the frames have no Ethernet headers.
  void begin(const CaptureFormat& source_format) override;
  void take(const Record& record) override;
  void flush() override {}
  hr_totals lost() const override { return lost_; }
  void end(std::span<const hr_port_stats>, uint64_t) override {}

 private:
  std::shared_ptr<TapDevice> device_;
  hr_totals lost_{};
};

}  // namespace headrace
