// SPDX-License-Identifier: Apache-2.0
// Packets of any source, copied into a ring: one after the other at any byte, each in one piece.
#pragma once

#include <memory>
#include <optional>

#include "links/source.h"
#include "memory/kept_times.h"
#include "memory/packet_memory.h"
#include "memory/packet_ring.h"

namespace headrace {

class CopiedPackets : public PacketMemory {
 public:
  // With `times`, packets get stand-ins for times that are kept there.
  CopiedPackets(std::unique_ptr<Source> source, const PacketRange& range, KeptTimes* times)
      : source_(std::move(source)), range_(range), times_(times), ring_(range.bytes, range.size) {}

  size_t take(std::span<hr_packet> packets) override;
  void release(size_t count) override;
  hr_packets_state state() const override;
  void stop() override { source_->stop(); }
  std::optional<CaptureFormat> format() const override { return source_->format(); }

 private:
  bool fetch();
  bool place(hr_packet& packet);
  uint64_t time_ns() const;
  bool broken() const { return ended_ && !source_->fault().empty(); }

  std::unique_ptr<Source> source_;
  PacketRange range_;
  KeptTimes* times_;
  PacketRing ring_;
  RxFrame frame_;
  bool held_ = false;  // the frame waits for room
  uint64_t too_long_ = 0;
  bool ended_ = false;
  bool told_ = false;  // that the source broke off
};

}  // namespace headrace
