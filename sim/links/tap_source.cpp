// SPDX-License-Identifier: Apache-2.0
#include "links/tap_source.h"

#include <cerrno>
#include <cstring>

namespace headrace {

Next TapSource::next(RxFrame& frame) {
  if (ended_) return Next::kEnd;
  if (queued_.empty() && !stopped_) take(kTogether);
  if (!queued_.empty()) {
    frame_ = std::move(queued_.front());
    queued_.pop_front();
    const size_t header = device_->offload() ? TapDevice::kOffloadHeader : 0;
    frame = {frame_.data() + header, static_cast<uint32_t>(frame_.size() - header), 0, false, false, true, queued_at_};
    if (header != 0) frame.offload = frame_.data();
    return Next::kFrame;
  }
  const bool nothing = error_ == 0 || error_ == EAGAIN || error_ == EINTR;
  if (nothing && !stopped_) return Next::kNotYet;
  ended_ = true;
  if (nothing) return Next::kEnd;
  return broken(error_ == EBADFD ? "the interface has gone" : std::strerror(error_));
}

// Takes over the kernel's queue, so that what the host sends from now on doesn't come, and what comes is known.
void TapSource::stop() {
  if (stopped_) return;
  stopped_ = true;
  take(TapDevice::kQueue);
}

// Adds what waits in the kernel, so many frames at most.
void TapSource::take(size_t most) {
  queued_at_ = record_time(clock_ns(CLOCK_REALTIME));
  while (queued_.size() < most) {
    const ssize_t length = device_->receive(longest_);
    error_ = length < 0 ? errno : 0;
    if (length <= 0) return;
    queued_.emplace_back(longest_.begin(), longest_.begin() + length);
  }
}

}  // namespace headrace
