// SPDX-License-Identifier: Apache-2.0
#include "links/live_sink.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "error.h"

namespace headrace {

void LiveSink::begin(const CaptureFormat& source_format) {
  if (source_format.link_type == CaptureFormat{}.link_type) return;
  throw Error(HR_ERROR_FILE, shown_ + ": takes Ethernet frames only");
}

void LiveSink::take(const Record& record) {
  constexpr uint32_t kHeader = 14;
  std::span<const uint8_t> frame(record.frame->data, record.length);
  std::array<uint8_t, kMinimum> whole{};
  if (record.length < kHeader) {  // the kernel wants a header; on a wire such a frame is padded
    std::copy(frame.begin(), frame.end(), whole.begin());
    frame = whole;
  }
  const int error = send(frame);
  if (error == 0) return;
  if (!loses(error)) throw Error(HR_ERROR_FILE, shown_ + ": " + std::strerror(error));
  add(lost_, record.totals());
}

}  // namespace headrace
