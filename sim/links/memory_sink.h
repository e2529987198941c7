// SPDX-License-Identifier: Apache-2.0
// Keeps frames until the user takes them.
#pragma once

#include <deque>
#include <vector>

#include "links/sink.h"
#include "wire/pacing.h"

namespace headrace {

class MemorySink : public Sink {
 public:
  void begin(const CaptureFormat&) override {}
  void flush() override {}
  void end(std::span<const hr_port_stats>, uint64_t) override {}

  void take(const Record& record) override {
    const TxFrame& frame = *record.frame;
    Kept kept{{}, std::vector<uint8_t>(frame.data, frame.data + record.length), {}};
    kept.info.length = record.length;
    kept.info.wire_length = frame.original_length();
    kept.info.timestamp_ns = Pacing::time_ns(record.time);
    kept.user = frame.user;
    kept.info.lost = frame.lost;
    kept.info.port = frame.port;
    kept.info.error = frame.error;
    frames_.push_back(std::move(kept));
  }

  bool receive(hr_frame& frame) {
    if (frames_.empty()) return false;
    current_ = std::move(frames_.front());
    frames_.pop_front();
    current_.info.data = current_.bytes.data();
    current_.info.user = current_.user.empty() ? nullptr : current_.user.data();
    frame = current_.info;
    return true;
  }

 private:
  struct Kept {
    hr_frame info{};
    std::vector<uint8_t> bytes;
    std::vector<uint64_t> user;
  };

  std::deque<Kept> frames_;
  Kept current_;
};

}  // namespace headrace
