// SPDX-License-Identifier: Apache-2.0
// What the host sends into a TAP device.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "links/live_source.h"
#include "links/tap_device.h"

namespace headrace {

class TapSource : public LiveSource {
 public:
  explicit TapSource(std::shared_ptr<TapDevice> device)
      : LiveSource(device->shown()), device_(std::move(device)), frame_(kLongest) {}

  Next next(RxFrame& frame) override;
  int waits_for() const override { return ended_ ? -1 : device_->descriptor(); }
  bool link_up() const override { return device_->up(); }
  uint64_t missed() const override { return device_->dropped(); }
  uint64_t waiting() const override { return queued_.size(); }
  void stop() override;

 private:
  static constexpr size_t kLongest = 65536;

  std::shared_ptr<TapDevice> device_;
  std::vector<uint8_t> frame_;
  std::deque<std::vector<uint8_t>> queued_;  // what had come when it was stopped
  RecordTime queued_at_{};
  bool stopped_ = false;
  bool ended_ = false;
};

}  // namespace headrace
