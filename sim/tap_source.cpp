#include "tap_source.h"

#include <cerrno>
#include <cstring>

namespace headrace {

Next TapSource::next(RxFrame& frame) {
  if (ended_) return Next::kEnd;
  const ssize_t length = stopped_ && left_-- == 0 ? 0 : device_->receive(frame_);
  if (length > 0) {
    frame = {frame_.data(), static_cast<uint32_t>(length), 0, false, true, record_time(clock_ns(CLOCK_REALTIME))};
    return Next::kFrame;
  }
  const bool nothing = length == 0 || errno == EAGAIN || errno == EINTR;
  if (nothing && !stopped_) return Next::kNotYet;
  ended_ = true;
  if (nothing) return Next::kEnd;
  return broken(errno == EBADFD ? "the interface has gone" : std::strerror(errno));
}

}  // namespace headrace
