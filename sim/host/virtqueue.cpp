// SPDX-License-Identifier: Apache-2.0
#include "host/virtqueue.h"

#include <atomic>
#include <string>

#include "error.h"
#include "headrace.h"
#include "memory/shared_bytes.h"

namespace headrace {
namespace {

// Descriptor: address (64 bits), length (32), id (16), flags (16).
constexpr size_t kLength = 8;
constexpr size_t kId = 12;
constexpr size_t kFlags = 14;
constexpr uint16_t kWrite = 1 << 1;
constexpr uint16_t kAvailable = 1 << 7;
constexpr uint16_t kUsed = 1 << 15;

// Event suppression structure: place (16), flags (16).
constexpr size_t kEventFlags = 2;
constexpr uint16_t kDisable = 1;

}  // namespace

Virtqueue::Virtqueue(uint8_t* bytes, uint64_t address, uint16_t entries, uint32_t buffer_bytes, bool device_writes)
    : bytes_(bytes),
      address_(address),
      entries_(entries),
      buffer_bytes_(buffer_bytes),
      device_writes_(device_writes),
      outstanding_(entries) {
  for (uint16_t number = entries; number-- > 0;) free_.push_back(number);
}

void Virtqueue::add(uint32_t bytes) {
  const uint16_t number = free_.back();
  free_.pop_back();
  outstanding_[number] = true;
  uint8_t* at = descriptor(next_available_);
  store_word(at, buffers_address() + uint64_t{number} * buffer_bytes_, 8);
  store_word(at + kLength, bytes, 4);
  store_word(at + kId, number, 2);
  const unsigned flags = (device_writes_ ? kWrite : 0u) | (available_wrap_ ? kAvailable : kUsed);
  store_word(at + kFlags, flags, 2, __ATOMIC_RELEASE);
  if (++next_available_ == entries_) {
    next_available_ = 0;
    available_wrap_ = !available_wrap_;
  }
}

std::optional<Virtqueue::Used> Virtqueue::take() {
  const uint8_t* at = descriptor(next_used_);
  const auto flags = static_cast<uint16_t>(load_word(at + kFlags, 2, __ATOMIC_ACQUIRE));
  const bool available = (flags & kAvailable) != 0;
  const bool used = (flags & kUsed) != 0;
  if (available != used || used != used_wrap_) return std::nullopt;
  const auto number = static_cast<uint16_t>(load_word(at + kId, 2));
  const auto bytes = static_cast<uint32_t>(load_word(at + kLength, 4));
  if (number >= entries_ || !outstanding_[number]) {
    throw Error(HR_ERROR_PROTOCOL,
                "a used descriptor names buffer " + std::to_string(number) + ", which the device doesn't have");
  }
  if (device_writes_ && bytes > buffer_bytes_) {
    throw Error(HR_ERROR_PROTOCOL, "a used descriptor has " + std::to_string(bytes) + " bytes, its buffer " +
                                       std::to_string(buffer_bytes_));
  }
  outstanding_[number] = false;
  free_.push_back(number);
  if (++next_used_ == entries_) {
    next_used_ = 0;
    used_wrap_ = !used_wrap_;
  }
  return Used{number, bytes};
}

bool Virtqueue::wants_doorbell() const {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return load_word(bytes_ + events_offset() + 4 + kEventFlags, 2) != kDisable;
}

void Virtqueue::want_interrupts(bool wanted) {
  store_word(bytes_ + events_offset() + kEventFlags, wanted ? 0 : kDisable, 2);
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

}  // namespace headrace
