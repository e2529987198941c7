// SPDX-License-Identifier: Apache-2.0
// The driver's half of a packed virtqueue (VIRTIO 1.2, 2.8) with buffers of its own: each descriptor that it makes
// available is one of them, whole.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace headrace {

// Where the parts of a queue lie for the device.
struct VirtqueuePlaces {
  uint64_t ring;    // descriptors
  uint64_t driver;  // the driver's event suppression structure
  uint64_t device;  // the device's
};

class Virtqueue {
 public:
  static constexpr uint64_t kDescriptorBytes = 16;
  static constexpr uint64_t kEventBytes = 16;  // of both structures, and what keeps the buffers apart from them

  // A buffer that the device needs no more.
  struct Used {
    uint16_t buffer;
    uint32_t bytes;  // that the device wrote
  };

  // Takes bytes_of(entries, buffer_bytes) of the device's address space at `address`, which lie at `bytes`.
  Virtqueue(uint8_t* bytes, uint64_t address, uint16_t entries, uint32_t buffer_bytes, bool device_writes);

  static uint64_t bytes_of(uint16_t entries, uint32_t buffer_bytes) {
    return uint64_t{entries} * (kDescriptorBytes + buffer_bytes) + 2 * kEventBytes;
  }

  VirtqueuePlaces places() const { return {address_, events_address(), events_address() + 4}; }
  uint16_t entries() const { return entries_; }
  std::span<uint8_t> buffer(uint16_t number) {
    return {bytes_ + buffers_offset() + size_t{number} * buffer_bytes_, buffer_bytes_};
  }

  // A buffer that the device doesn't have, for add(); none: it has all of them.
  std::optional<uint16_t> free() const { return free_.empty() ? std::nullopt : std::optional(free_.back()); }
  // Makes the buffer that free() gave available, with so many bytes.
  void add(uint32_t bytes);
  // The next used buffer, which is free again. Throws Error when the device says what can't be.
  std::optional<Used> take();

  // Whether the device wants to be told of buffers that were added; to be asked after add().
  bool wants_doorbell() const;
  // Whether the device shall interrupt when buffers are used.
  void want_interrupts(bool wanted);

 private:
  uint64_t events_offset() const { return uint64_t{entries_} * kDescriptorBytes; }
  uint64_t events_address() const { return address_ + events_offset(); }
  uint64_t buffers_offset() const { return events_offset() + 2 * kEventBytes; }
  uint64_t buffers_address() const { return address_ + buffers_offset(); }
  uint8_t* descriptor(uint16_t index) const { return bytes_ + size_t{index} * kDescriptorBytes; }

  uint8_t* bytes_;
  uint64_t address_;
  uint16_t entries_;
  uint32_t buffer_bytes_;
  bool device_writes_;
  std::vector<uint16_t> free_;
  std::vector<bool> outstanding_;  // by buffer
  uint16_t next_available_ = 0;
  uint16_t next_used_ = 0;
  bool available_wrap_ = true;
  bool used_wrap_ = true;
};

}  // namespace headrace
