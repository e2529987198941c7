#include "copied_packets.h"

#include <cstring>

#include "pacing.h"

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

// The position at which the frame fits in one piece; none while there is no room.
std::optional<uint64_t> CopiedPackets::room() const {
  const uint64_t to_end = range_.size - head_ % range_.size;
  const uint64_t start = frame_.length <= to_end ? head_ : head_ + to_end;
  if (!ends_.empty() && start + frame_.length - tail_ > range_.size) return std::nullopt;
  return start;
}

bool CopiedPackets::place(hr_packet& packet) {
  const std::optional<uint64_t> start = room();
  if (!start) return false;
  if (ends_.empty()) tail_ = *start;
  const uint64_t offset = *start % range_.size;
  if (frame_.length != 0) std::memcpy(range_.bytes + offset, frame_.data, frame_.length);
  head_ = *start + frame_.length;
  ends_.push_back(head_);
  packet = {range_.address + offset, frame_.has_time ? Pacing::time_ns(frame_.time) : 0, frame_.length,
            frame_.wire_length != 0 ? frame_.wire_length : frame_.length};
  held_ = false;
  return true;
}

void CopiedPackets::release(size_t count) {
  check_release(count, ends_.size());
  if (count == 0) return;
  tail_ = ends_[count - 1];
  ends_.erase(ends_.begin(), ends_.begin() + static_cast<std::ptrdiff_t>(count));
}

hr_packets_state CopiedPackets::state() const {
  // While a frame waits for room, nothing that the source does can help.
  return {source_->missed() + too_long_, ends_.size(), ended_ && (told_ || !broken()), held_ && !room(),
          held_ || ended_ ? -1 : source_->waits_for()};
}

}  // namespace headrace
