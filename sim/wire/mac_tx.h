// SPDX-License-Identifier: Apache-2.0
// The sending half of a MAC: takes a frame's beats into a small FIFO and puts them on the wire.
//
// A frame starts on the wire kStartDelay cycles after its first beat, or when the wire is free. tready is high while
// the bytes waiting for the wire are at most kFifo, preambles and gaps counted in. A beat that comes later than its
// bytes' time on the wire is an underrun; the wire then waits for it.
#pragma once

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <vector>

#include "error.h"
#include "headrace.h"
#include "model/table.h"
#include "wire/bits.h"
#include "wire/frame.h"

namespace headrace {

class MacTx {
 public:
  MacTx(unsigned port, const Pins& pins, uint32_t beat_bytes, unsigned user_bits, WireRate rate, hr_port_stats& stats)
      : port_(port), pins_(pins), beat_bytes_(beat_bytes), user_bits_(user_bits), rate_(rate), stats_(stats) {
    frame_.user.resize((user_bits - kTxMetaBits + 63) / 64);
  }

  void set_rate(WireRate rate) {
    rate_ = rate;
    free_ = {free_.next_cycle(), 0};
    set_room();
  }
  uint64_t bits_per_second() const { return rate_.bits_per_second(); }

  bool ready(Cycle now) const { return now >= room_at_; }

  // When everything taken so far will have left on the wire, gap included.
  Cycle drained_at() const { return free_.next_cycle(); }

  // When the first beat of the frame being taken, or of the last one, came.
  Cycle first_beat() const { return first_beat_; }

  // Takes the beat that is on the bus; true: it was a frame's last, and frame() is the whole.
  bool take(Cycle now) {
    const uint32_t kept = keep();
    const bool last = (pins_.tx_tlast[port_ / 8] >> (port_ % 8)) & 1;
    if (kept != beat_bytes_ && !last) {
      throw Error(HR_ERROR_PROTOCOL,
                  "port " + std::to_string(port_) + ": tx_tkeep is not all ones on a beat that is not a frame's last");
    }
    if (!inside_) {
      inside_ = true;
      first_beat_ = now;
      start_ = free_.cycle >= now + kStartDelay ? free_ : WireTime{now + kStartDelay, 0};
    } else {
      const Cycle deadline = rate_.after(start_, kPreamble + bytes_).cycle;
      if (now > deadline) {
        ++stats_.tx_underruns;
        start_.cycle += now - deadline;
      }
    }
    if (bytes_ + kept > kLongest) {
      throw Error(HR_ERROR_PROTOCOL, "port " + std::to_string(port_) + ": a frame of more than " +
                                         std::to_string(kLongest) + " bytes: tx_tlast doesn't come");
    }
    if (buffer_.size() < bytes_ + beat_bytes_) buffer_.resize(2 * (bytes_ + beat_bytes_));
    std::memcpy(buffer_.data() + bytes_, pins_.tx_tdata + size_t{port_} * beat_bytes_, beat_bytes_);
    bytes_ += kept;
    free_ = rate_.after(start_, last ? wire_bytes(bytes_) : kPreamble + bytes_);
    set_room();
    if (!last) return false;
    finish();
    return true;
  }

  const TxFrame& frame() const { return frame_; }

 private:
  static constexpr Cycle kStartDelay = 2;
  static constexpr uint32_t kFifo = 2048;
  static constexpr uint32_t kLongest = 262144;  // tcpdump's snapshot length

  void set_room() { room_at_ = free_.next_cycle() - rate_.after({}, kFifo).cycle; }

  void finish() {
    size_t at = size_t{port_} * user_bits_;
    const auto take = [&](unsigned width) {
      at += width;
      return get_bits(pins_.tx_tuser, at - width, width);
    };
    frame_.data = buffer_.data();
    frame_.length = bytes_;
    frame_.timestamp_ns = take(64);
    frame_.wire_length = static_cast<uint32_t>(take(32));
    frame_.cut = take(1);
    frame_.error = take(1);
    frame_.port = static_cast<uint8_t>(take(8));
    frame_.lost = static_cast<uint32_t>(take(32));
    for (unsigned got = 0; uint64_t& word : frame_.user) {
      const unsigned width = std::min(64u, user_bits_ - kTxMetaBits - got);
      word = take(width);
      got += width;
    }
    ++stats_.tx_frames;
    stats_.tx_bytes += bytes_;
    stats_.tx_errors += frame_.error;
    stats_.tx_lost += frame_.lost;
    bytes_ = 0;
    inside_ = false;
  }

  // Bytes of the beat; tkeep must be ones from bit 0 on, then zeros.
  uint32_t keep() const {
    uint32_t ones = 0;
    bool ended = false;
    for (unsigned at = 0; at < beat_bytes_; at += 64) {
      const unsigned width = std::min(64u, beat_bytes_ - at);
      const uint64_t part = get_bits(pins_.tx_tkeep, size_t{port_} * beat_bytes_ + at, width);
      const unsigned count = static_cast<unsigned>(std::countr_one(part));
      if ((count < 64 && part >> count != 0) || (ended && count != 0)) {
        throw Error(HR_ERROR_PROTOCOL, "port " + std::to_string(port_) + ": tx_tkeep has a hole");
      }
      ended = count < width;
      ones += count;
    }
    return ones;
  }

  unsigned port_;
  const Pins pins_;
  uint32_t beat_bytes_;
  unsigned user_bits_;
  WireRate rate_;
  hr_port_stats& stats_;
  std::vector<uint8_t> buffer_ = std::vector<uint8_t>(4096);
  uint32_t bytes_ = 0;
  bool inside_ = false;
  Cycle first_beat_ = 0;
  WireTime start_;     // of the frame's preamble
  WireTime free_;      // when the wire is free for the next frame
  Cycle room_at_ = 0;  // when the FIFO can take a beat
  TxFrame frame_;
};

}  // namespace headrace
