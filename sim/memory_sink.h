// Keeps frames until the user takes them.
#pragma once

#include <deque>
#include <vector>

#include "pacing.h"
#include "sink.h"

namespace headrace {

class MemorySink : public Sink {
 public:
  void begin(const CaptureFormat&) override {}
  void flush() override {}
  void end(std::span<const hr_port_stats>, uint64_t) override {}

  void take(const Record& record) override {
    const TxFrame& frame = *record.frame;
    Kept kept{{}, std::vector<uint8_t>(frame.data, frame.data + record.length)};
    kept.info.length = record.length;
    kept.info.wire_length = frame.wire_length != 0 ? frame.wire_length : frame.length;
    kept.info.timestamp_ns = Pacing::time_ns(record.time);
    kept.info.matched = frame.matched;
    for (unsigned p = 0; p < kPrograms && p < std::size(kept.info.snap_length); ++p) {
      kept.info.snap_length[p] = frame.snap_length[p];
    }
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
    frame = current_.info;
    return true;
  }

 private:
  struct Kept {
    hr_frame info{};
    std::vector<uint8_t> bytes;
  };

  std::deque<Kept> frames_;
  Kept current_;
};

}  // namespace headrace
