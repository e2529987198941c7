// SPDX-License-Identifier: Apache-2.0
// Frames handed in one by one: by the user, or by another port's MAC over a cable.
#pragma once

#include <deque>
#include <vector>

#include "links/source.h"

namespace headrace {

class QueueSource : public Source {
 public:
  void push(const uint8_t* data, uint32_t length, uint32_t wire_length, bool cut, bool error) {
    waiting_bytes_ += length;
    frames_.push_back({{data, data + length}, wire_length, cut, error});
  }

  size_t waiting_bytes() const { return waiting_bytes_; }

  Next next(RxFrame& frame) override {
    if (frames_.empty()) return Next::kNotYet;
    current_ = std::move(frames_.front());
    frames_.pop_front();
    waiting_bytes_ -= current_.bytes.size();
    frame = RxFrame{};
    frame.data = current_.bytes.data();
    frame.length = static_cast<uint32_t>(current_.bytes.size());
    frame.wire_length = current_.wire_length;
    frame.cut = current_.cut;
    frame.error = current_.error;
    return Next::kFrame;
  }

 private:
  struct Queued {
    std::vector<uint8_t> bytes;
    uint32_t wire_length = 0;
    bool cut = false;
    bool error = false;
  };

  std::deque<Queued> frames_;
  Queued current_;
  size_t waiting_bytes_ = 0;
};

}  // namespace headrace
