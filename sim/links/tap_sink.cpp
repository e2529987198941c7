// SPDX-License-Identifier: Apache-2.0
#include "links/tap_sink.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "error.h"

namespace headrace {

void TapSink::begin(const CaptureFormat& source_format) {
  if (source_format.link_type == CaptureFormat{}.link_type) return;
  throw Error(HR_ERROR_FILE, device_->shown() + ": takes Ethernet frames only");
}

void TapSink::take(const Record& record) {
  constexpr uint32_t kHeader = 14;
  std::span<const uint8_t> frame(record.frame->data, record.length);
  std::array<uint8_t, kMinimum> whole{};
  if (record.length < kHeader) {  // a TAP device wants a header; on a wire such a frame is padded
    std::copy(frame.begin(), frame.end(), whole.begin());
    frame = whole;
  }
  if (device_->send(frame) >= 0) return;
  if (errno != EIO && errno != EBADFD) {  // neither down nor gone
    throw Error(HR_ERROR_FILE, device_->shown() + ": " + std::strerror(errno));
  }
  add(lost_, record.totals());
}

}  // namespace headrace
