// SPDX-License-Identifier: Apache-2.0
#include "host/function_port.h"

#include <algorithm>
#include <cstring>

namespace headrace {
namespace {

constexpr uint32_t kLeast = FunctionPort::kHeader + 60;
constexpr uint32_t kMost = 65664;  // header and longest frame, in whole lines of 64

const hr_function& checked(const hr_function& request) {
  if (request.entries == 0 || request.entries > 32768) {
    throw Error(HR_ERROR_USAGE, "a virtqueue has 1 to 32768 descriptors, not " + std::to_string(request.entries));
  }
  if (request.buffer_bytes < kLeast || request.buffer_bytes > kMost) {
    throw Error(HR_ERROR_USAGE, "a function's buffers have " + std::to_string(kLeast) + " to " + std::to_string(kMost) +
                                    " bytes, not " + std::to_string(request.buffer_bytes));
  }
  return request;
}

uint64_t queue_bytes(const hr_function& request) {
  return Virtqueue::bytes_of(static_cast<uint16_t>(request.entries), request.buffer_bytes);
}

std::shared_ptr<uint8_t> mapped(HostMemory& memory, const hr_function& request) {
  const auto function = static_cast<uint16_t>(checked(request).function);
  memory.map(function, request.address, 2 * queue_bytes(request), false);
  return memory.pages(function, request.address);
}

}  // namespace

FunctionPort::FunctionPort(HostMemory& memory, const hr_function& request, hr_port_stats& stats)
    : memory_(memory),
      request_(request),
      stats_(stats),
      bytes_(mapped(memory, request)),
      transmit_(bytes_.get(), request.address, static_cast<uint16_t>(request.entries), request.buffer_bytes, false),
      receive_(bytes_.get() + queue_bytes(request), request.address + queue_bytes(request),
               static_cast<uint16_t>(request.entries), request.buffer_bytes, true) {
  while (receive_.free()) receive_.add(request.buffer_bytes);
  transmit_.want_interrupts(false);
}

FunctionPort::~FunctionPort() {
  memory_.unmap(function(), request_.address);
}

void FunctionPort::attach(Source* source, Pacing pacing, uint64_t packets) {
  source_ = source;
  pacing_ = pacing;
  packets_left_ = packets;
  ended_ = false;
}

void FunctionPort::detach() {
  source_ = nullptr;
  ended_ = true;
  loaded_ = false;
}

void FunctionPort::wake(Cycle now) {
  if (!waiting()) return;
  pacing_.resume(now);
  fetch();
  if (loaded_) due_ = std::min(due_, std::max(now, earliest_));
}

// Loads the next frame, if there is one.
void FunctionPort::fetch() {
  loaded_ = false;
  while (!ended_ && !loaded_) {
    const Next next = packets_left_ == 0 ? Next::kEnd : source_->next(frame_);
    if (next == Next::kNotYet) return;
    ended_ = next == Next::kEnd;
    if (ended_) return;
    --packets_left_;
    earliest_ = pacing_.earliest(frame_);
    loaded_ = frame_.length + kHeader <= request_.buffer_bytes && !frame_.error;
    if (!loaded_) ++stats_.rx_missed;
  }
}

// Hands over all that may go and has room. Whether there was something.
bool FunctionPort::send(Cycle now) {
  bool sent = false;
  due_ = kNever;
  while (loaded_) {
    if (earliest_ > now) {
      due_ = earliest_;
      break;
    }
    if (!transmit_.free()) {
      // Told when there is room again; some may have come since it was looked at.
      transmit_.want_interrupts(true);
      while (transmit_.take()) continue;
      if (!transmit_.free()) break;
    }
    const std::span<uint8_t> buffer = transmit_.buffer(*transmit_.free());
    if (frame_.offload != nullptr) {
      std::memcpy(buffer.data(), frame_.offload, kHeader);
    } else {
      std::memset(buffer.data(), 0, kHeader);
    }
    std::memcpy(buffer.data() + kHeader, frame_.data, frame_.length);
    transmit_.add(kHeader + frame_.length);
    ++stats_.rx_frames;
    stats_.rx_bytes += frame_.length;
    sent = true;
    fetch();
  }
  if (!loaded_) transmit_.want_interrupts(false);
  return sent;
}

}  // namespace headrace
