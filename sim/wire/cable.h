// SPDX-License-Identifier: Apache-2.0
// A cable from a port of one card to a port of another, which share nothing else. A frame starts into the receiver
// `delay` after the sender has it whole.
//
// Both cards may run at the same time: what the sender gives out within a window of time arrives when a coordinator
// carries it over, between two windows, and so does the hold-off of a receiver with flow control.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "links/live_source.h"
#include "links/source.h"
#include "wire/frame.h"

namespace headrace {

class Cable {
 public:
  struct Frame {
    std::vector<uint8_t> bytes;
    uint32_t wire_length = 0;
    bool cut = false;
    bool error = false;
    uint64_t time_ns = 0;  // when it starts into the receiver
  };

  explicit Cable(uint64_t delay_ns) : delay_ns_(delay_ns) {}

  uint64_t delay_ns() const { return delay_ns_; }

  // The sender's end.
  bool held() const { return held_; }
  void send(const TxFrame& frame, uint64_t now_ns) {
    sent_.push_back(
        {{frame.data, frame.data + frame.length}, frame.wire_length, frame.cut, frame.error, now_ns + delay_ns_});
  }

  // The receiver's end.
  bool empty() const { return arrived_.empty(); }
  Frame take() {
    Frame frame = std::move(arrived_.front());
    arrived_.pop_front();
    waiting_bytes_ -= frame.bytes.size();
    return frame;
  }

  // Between two windows.
  void carry(bool flow_control) {
    for (Frame& frame : sent_) {
      waiting_bytes_ += frame.bytes.size();
      arrived_.push_back(std::move(frame));
    }
    sent_.clear();
    held_ = flow_control && waiting_bytes_ > kHeldBytes;
  }

 private:
  static constexpr size_t kHeldBytes = 16384;  // waiting at the receiver, from which on it holds the sender off

  uint64_t delay_ns_;
  bool held_ = false;
  std::vector<Frame> sent_;
  std::deque<Frame> arrived_;
  size_t waiting_bytes_ = 0;
};

class CableSource : public Source {
 public:
  explicit CableSource(std::shared_ptr<Cable> cable) : cable_(std::move(cable)) {}

  Next next(RxFrame& frame) override {
    if (cable_->empty()) return Next::kNotYet;
    current_ = cable_->take();
    frame = {current_.bytes.data(),
             static_cast<uint32_t>(current_.bytes.size()),
             current_.wire_length,
             current_.cut,
             current_.error,
             true,
             LiveSource::record_time(current_.time_ns)};
    return Next::kFrame;
  }

 private:
  std::shared_ptr<Cable> cable_;
  Cable::Frame current_;
};

}  // namespace headrace
