// Gives frames to the host, as what a TAP device receives.
#pragma once

#include <memory>

#include "sink.h"
#include "tap_device.h"

namespace headrace {

class TapSink : public Sink {
 public:
  explicit TapSink(std::shared_ptr<TapDevice> device) : device_(std::move(device)) {}

  void begin(const CaptureFormat&) override {}
  void take(const Record& record) override;
  void flush() override {}
  void end(std::span<const hr_port_stats>, uint64_t) override {}

 private:
  std::shared_ptr<TapDevice> device_;
};

}  // namespace headrace
