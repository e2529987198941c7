// SPDX-License-Identifier: Apache-2.0
// What the host sends into a TAP device. The kernel doesn't say when; frames that wait for the card have come together,
// or a card that is slower than the wall's time would take each only when the one before has gone through.
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
      : LiveSource(device->shown()), device_(std::move(device)), longest_(kLongest) {}

  Next next(RxFrame& frame) override;
  int waits_for() const override { return ended_ ? -1 : device_->descriptor(); }
  bool link_up() const override { return device_->up(); }
  std::string link_name() const override { return device_->name(); }
  uint64_t missed() const override { return device_->dropped(); }
  uint64_t waiting() const override { return queued_.size(); }
  void stop() override;

 private:
  static constexpr size_t kLongest = 65600 + TapDevice::kOffloadHeader;
  static constexpr size_t kTogether = 256;  // frames

  void take(size_t most);

  std::shared_ptr<TapDevice> device_;
  std::vector<uint8_t> longest_;
  std::vector<uint8_t> frame_;               // that the caller has
  std::deque<std::vector<uint8_t>> queued_;  // what has come
  RecordTime queued_at_{};
  int error_ = 0;  // of the last look
  bool stopped_ = false;
  bool ended_ = false;
};

}  // namespace headrace
