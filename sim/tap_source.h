// What the host sends into a TAP device.
#pragma once

#include <memory>
#include <vector>

#include "live_source.h"
#include "tap_device.h"

namespace headrace {

class TapSource : public LiveSource {
 public:
  explicit TapSource(std::shared_ptr<TapDevice> device)
      : LiveSource(device->shown()), device_(std::move(device)), frame_(kLongest) {}

  Next next(RxFrame& frame) override;
  int waits_for() const override { return ended_ ? -1 : device_->descriptor(); }
  uint64_t missed() const override { return device_->dropped(); }
  void stop() override { stopped_ = true; }

 private:
  static constexpr size_t kLongest = 65536;

  std::shared_ptr<TapDevice> device_;
  std::vector<uint8_t> frame_;
  bool stopped_ = false;
  bool ended_ = false;
  int left_ = TapDevice::kQueue;  // frames to take once stopped
};

}  // namespace headrace
