// SPDX-License-Identifier: Apache-2.0
// Packets in a ring of memory: one after the other at any byte, each in one piece, released in order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <optional>

namespace headrace {

class PacketRing {
 public:
  PacketRing(uint8_t* bytes, uint64_t size) : bytes_(bytes), size_(size) {}

  uint64_t size() const { return size_; }
  size_t packets() const { return ends_.size(); }

  bool has_room(uint32_t length) const { return start(length).has_value(); }

  // Gives the offset at which the packet lies; none while there is no room.
  std::optional<uint64_t> place(const uint8_t* data, uint32_t length) {
    const std::optional<uint64_t> at = start(length);
    if (!at) return std::nullopt;
    if (ends_.empty()) tail_ = *at;
    const uint64_t offset = *at % size_;
    if (length != 0) std::memcpy(bytes_ + offset, data, length);
    head_ = *at + length;
    ends_.push_back(head_);
    return offset;
  }

  // The oldest packets, of which there must be as many.
  void release(size_t count) {
    if (count == 0) return;
    tail_ = ends_[count - 1];
    ends_.erase(ends_.begin(), ends_.begin() + static_cast<std::ptrdiff_t>(count));
  }

 private:
  std::optional<uint64_t> start(uint32_t length) const {
    if (size_ == 0 || length > size_) return std::nullopt;
    const uint64_t to_end = size_ - head_ % size_;
    const uint64_t at = length <= to_end ? head_ : head_ + to_end;
    if (!ends_.empty() && at + length - tail_ > size_) return std::nullopt;
    return at;
  }

  uint8_t* bytes_;
  uint64_t size_;
  // Positions count on for ever; a byte's place in the ring is its position modulo the size.
  uint64_t head_ = 0;
  uint64_t tail_ = 0;
  std::deque<uint64_t> ends_;  // position after each packet, the oldest first
};

}  // namespace headrace
