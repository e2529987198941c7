// SPDX-License-Identifier: Apache-2.0
#include "memory/copied_packets.h"

#include "wire/pacing.h"

namespace headrace {

size_t CopiedPackets::take(std::span<hr_packet> packets) {
  size_t count = 0;
  while (count < packets.size() && fetch() && frame_.length <= range_.size && place(packets[count])) ++count;
  if (count != 0) return count;
  if (held_ && frame_.length > range_.size) {
    held_ = false;
    ++too_long_;
    throw Error(HR_ERROR_USAGE, "a packet of " + std::to_string(frame_.length) + " bytes does not fit into " +
                                    std::to_string(range_.size) + " bytes of packet memory");
  }
  if (broken() && !told_) {
    told_ = true;
    throw Error(HR_ERROR_CAPTURE, source_->fault());
  }
  return 0;
}

// Makes sure that the source's next frame is there; false: there is none now.
bool CopiedPackets::fetch() {
  if (held_ || ended_) return held_;
  const Next next = source_->next(frame_);
  held_ = next == Next::kFrame;
  ended_ = next == Next::kEnd;
  return held_;
}

bool CopiedPackets::place(hr_packet& packet) {
  const std::optional<uint64_t> offset = ring_.place(frame_.data, frame_.length);
  if (!offset) return false;
  packet = {range_.address + *offset, time_ns(), frame_.length, frame_.original_length()};
  held_ = false;
  return true;
}

uint64_t CopiedPackets::time_ns() const {
  if (!frame_.has_time) return 0;
  return times_ != nullptr ? times_->keep(frame_.time) : Pacing::time_ns(frame_.time);
}

void CopiedPackets::release(size_t count) {
  check_release(count, ring_.packets());
  ring_.release(count);
}

hr_packets_state CopiedPackets::state() const {
  // While a frame waits for room, nothing that the source does can help.
  return {source_->missed() + too_long_,
          source_->waiting() + held_,
          ring_.packets(),
          ended_ && (told_ || !broken()),
          held_ && !ring_.has_room(frame_.length),
          held_ || ended_ ? -1 : source_->waits_for()};
}

}  // namespace headrace
