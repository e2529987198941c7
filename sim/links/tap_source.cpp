// SPDX-License-Identifier: Apache-2.0
#include "links/tap_source.h"

#include <cerrno>
#include <cstring>

namespace headrace {

Next TapSource::next(RxFrame& frame) {
  if (ended_) return Next::kEnd;
  if (!queued_.empty()) {
    frame_ = std::move(queued_.front());
    queued_.pop_front();
    frame = {frame_.data(), static_cast<uint32_t>(frame_.size()), 0, false, false, true, queued_at_};
    return Next::kFrame;
  }
  const ssize_t length = stopped_ ? 0 : device_->receive(frame_);
  if (length > 0) {
    frame = {frame_.data(), static_cast<uint32_t>(length),        0, false, false,
             true,          record_time(clock_ns(CLOCK_REALTIME))};
    return Next::kFrame;
  }
  const bool nothing = length == 0 || errno == EAGAIN || errno == EINTR;
  if (nothing && !stopped_) return Next::kNotYet;
  ended_ = true;
  if (nothing) return Next::kEnd;
  return broken(errno == EBADFD ? "the interface has gone" : std::strerror(errno));
}

// Takes over the kernel's queue, so that what the host sends from now on doesn't come, and what comes is known.
void TapSource::stop() {
  if (stopped_) return;
  stopped_ = true;
  queued_at_ = record_time(clock_ns(CLOCK_REALTIME));
  std::vector<uint8_t> longest(kLongest);
  while (queued_.size() < TapDevice::kQueue) {
    const ssize_t length = device_->receive(longest);
    if (length <= 0) return;
    queued_.emplace_back(longest.begin(), longest.begin() + length);
  }
}

}  // namespace headrace
