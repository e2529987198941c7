// SPDX-License-Identifier: Apache-2.0
#include "links/tap_sink.h"

#include <cerrno>

namespace headrace {

int TapSink::send(std::span<const uint8_t> frame) {
  return device_->send(frame) >= 0 ? 0 : errno;
}

bool TapSink::loses(int error) const {
  return error == EIO || error == EBADFD;
}  // down, gone

}  // namespace headrace
