// SPDX-License-Identifier: Apache-2.0
// The receiving half of a MAC: turns frames on a wire into beats, at the cycle in which their bytes have arrived.
//
// A beat is due once its bytes have arrived, the last one once the FCS has. The card must take it in that cycle:
// otherwise the frame is lost (overrun) or, with flow control, the link is held off until the card takes it. A card
// whose bus is slower than the wire may lag behind by kSlack bytes, the longest standard frame; no stall is hidden by
// that.
#pragma once

#include <algorithm>
#include <cstring>

#include "headrace.h"
#include "links/source.h"
#include "model/table.h"
#include "wire/bits.h"
#include "wire/frame.h"
#include "wire/pacing.h"

namespace headrace {

class MacRx {
 public:
  // What the card took in a cycle.
  struct Taken {
    bool first = false;  // beat of a frame
    bool last = false;
  };

  MacRx(unsigned port, const Pins& pins, uint32_t beat_bytes, WireRate rate, hr_port_stats& stats)
      : port_(port), pins_(pins), beat_bytes_(beat_bytes), rate_(rate), stats_(stats) {}

  // The source's frames, `packets` at most, follow the one that is on its way.
  void attach(Source* source, Pacing pacing, uint64_t packets) {
    source_ = source;
    pacing_ = pacing;
    packets_left_ = packets;
    ended_ = false;
  }

  void detach() {
    source_ = nullptr;
    ended_ = true;
  }

  // The source is asked for nothing more; the frame that is on its way still comes.
  void end() { ended_ = true; }

  // Asks the source for a frame if none is on its way. A wire that was silent starts now.
  void wake(Cycle now) {
    if (ended_ || offering()) return;
    if (free_.cycle < now) free_ = {now, 0};
    pacing_.resume(now);
    fetch();
  }

  void set_rate(WireRate rate) {
    rate_ = rate;
    free_ = {free_.next_cycle(), 0};
  }

  void set_flow_control(bool on) { flow_control_ = on; }
  bool flow_control() const { return flow_control_; }

  // The cycle in which the next beat goes; kNever if no frame waits.
  Cycle due() const { return due_; }
  bool offering() const { return due_ != kNever; }

  // Whether the source may have a frame later.
  bool waiting() const { return !ended_ && !offering(); }

  // The frame of the last beat, and how many of its bytes the card has been given.
  const RxFrame& frame() const { return frame_; }
  uint32_t given() const { return given_; }

  // Puts the beat that is due on the bus; false: none is.
  bool drive(Cycle now) {
    if (now < due_) return false;
    const uint32_t left = frame_.length - offset_;
    uint8_t* data = pins_.rx_tdata + size_t{port_} * beat_bytes_;
    if (left >= beat_bytes_) {
      std::memcpy(data, frame_.data + offset_, beat_bytes_);
      set_keep(beat_bytes_);
    } else {
      if (left != 0) std::memcpy(data, frame_.data + offset_, left);
      set_keep(left);
    }
    const bool last = cut_ || left <= beat_bytes_;
    put_bits(pins_.rx_tlast, port_, 1, last);
    if (last) put_bits(pins_.rx_tuser, size_t{port_} * kRxMetaBits, kRxMetaBits, meta());
    return true;
  }

  // What became of the beat that drive() put on the bus. A frame whose last beat was taken is followed by finish().
  Taken sample(bool ready, Cycle now) {
    offered_ = now;
    if (!ready) {
      refuse(now);
      return {};
    }
    const Taken taken{offset_ == 0, cut_ || frame_.length - offset_ <= beat_bytes_};
    given_ = std::min(frame_.length, offset_ + beat_bytes_);
    if (!taken.last) {
      offset_ = given_;
      schedule();
    } else if (!cut_) {
      ++stats_.rx_frames;
      stats_.rx_bytes += frame_.length;
    }
    return taken;
  }

  // Goes on to the next frame.
  void finish() { fetch(); }

 private:
  static constexpr uint32_t kSlack = wire_bytes(1514);

  // Loads the next frame; those that come while the card's bus is too far behind are lost.
  void fetch() {
    offset_ = 0;
    cut_ = false;
    for (;;) {
      const Next next = ended_ || packets_left_ == 0 ? Next::kEnd : source_->next(frame_);
      if (next != Next::kFrame) {
        due_ = kNever;
        ended_ = next == Next::kEnd;
        return;
      }
      --packets_left_;
      start_ = free_;
      if (!pacing_.is_line(rate_.bits_per_second())) {
        const Cycle earliest = pacing_.earliest(frame_);
        if (earliest > start_.next_cycle()) start_ = {earliest, 0};
      }
      free_ = rate_.after(start_, wire_bytes(frame_.length));
      schedule();
      const Cycle excess = due_ - arrived_ - rate_.cycles(kSlack);
      if (excess <= 0) return;
      if (flow_control_) {
        hold(excess);
        return;
      }
      ++stats_.rx_overruns;
    }
  }

  void schedule() {
    const uint32_t left = frame_.length - offset_;
    const uint32_t bytes = left <= beat_bytes_ ? padded(frame_.length) + kFcs : offset_ + beat_bytes_;
    arrived_ = rate_.after(start_, kPreamble + bytes).next_cycle();
    due_ = std::max(arrived_, offered_ + 1);
  }

  void refuse(Cycle now) {
    due_ = now + 1;
    if (flow_control_) {
      hold(1);
    } else if (!cut_) {
      ++stats_.rx_overruns;
      if (offset_ == 0) {
        fetch();
      } else {
        cut_ = true;
      }
    }
  }

  void hold(Cycle cycles) {
    start_.cycle += cycles;
    free_.cycle += cycles;
    stats_.rx_held_cycles += static_cast<uint64_t>(cycles);
  }

  uint64_t meta() const {
    const bool error = frame_.error || cut_;
    return uint64_t{error} << 33 | uint64_t{frame_.cut} << 32 | (frame_.cut ? frame_.wire_length : 0);
  }

  void set_keep(uint32_t bytes) {
    if (bytes == keep_bytes_) return;
    keep_bytes_ = bytes;
    for (unsigned at = 0; at < beat_bytes_; at += 32) {
      const unsigned width = std::min(32u, beat_bytes_ - at);
      const unsigned ones = bytes <= at ? 0 : std::min(width, bytes - at);
      put_bits(pins_.rx_tkeep, size_t{port_} * beat_bytes_ + at, width, (uint64_t{1} << ones) - 1);
    }
  }

  unsigned port_;
  const Pins pins_;
  uint32_t beat_bytes_;
  WireRate rate_;
  hr_port_stats& stats_;
  bool flow_control_ = false;
  Source* source_ = nullptr;
  Pacing pacing_ = Pacing::line();
  uint64_t packets_left_ = 0;
  bool ended_ = true;

  RxFrame frame_;
  uint32_t offset_ = 0;  // of the beat on offer
  uint32_t given_ = 0;
  bool cut_ = false;    // the frame is lost, and the beat on offer ends it with an error
  WireTime start_;      // of the frame's preamble
  WireTime free_;       // when the next frame may start
  Cycle arrived_ = 0;   // when the beat's bytes are there
  Cycle due_ = kNever;  // when the beat goes
  Cycle offered_ = -1;  // when the last one went
  uint32_t keep_bytes_ = UINT32_MAX;
};

}  // namespace headrace
