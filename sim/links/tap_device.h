// SPDX-License-Identifier: Apache-2.0
// A TAP device: a network interface of the host whose other end is a port of the card.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "links/descriptor.h"

namespace headrace {

class TapDevice {
 public:
  // Frames that wait for the card at most; the kernel drops what comes on top.
  static constexpr int kQueue = 16384;

  // Of a virtio-net header (VIRTIO 1.2, 5.1.6), little-endian, as each frame has before it with offload.
  static constexpr size_t kOffloadHeader = 12;

  // Makes the device, or takes one that the user has made with `ip tuntap`. With `offload` the host leaves checksums
  // and TCP segmentation to the card. Throws Error.
  TapDevice(const std::string& name, std::string shown, bool offload);
  ~TapDevice();
  TapDevice(const TapDevice&) = delete;
  TapDevice& operator=(const TapDevice&) = delete;

  const std::string& shown() const { return shown_; }
  void set_mtu(uint32_t mtu);
  int descriptor() const { return device_.number(); }
  // Whether the host has its end up, in whatever network namespace that is.
  bool up() const;
  // As the host calls it now, in whatever network namespace it is; "": it has gone.
  std::string name() const;
  bool offload() const { return offload_; }
  // As read() and write(); with offload what is read begins with a header, and what is written has none.
  ssize_t receive(std::span<uint8_t> frame) const;
  ssize_t send(std::span<const uint8_t> frame) const;
  // Frames that the kernel dropped since the device was taken.
  uint64_t dropped() const { return dropped_now() - dropped_before_; }

 private:
  uint64_t dropped_now() const;

  std::string name_;
  std::string shown_;
  bool offload_;
  Descriptor device_;
  uint64_t dropped_before_ = 0;
};

}  // namespace headrace
