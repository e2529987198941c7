// SPDX-License-Identifier: Apache-2.0
// Where the frames that a port sends go.
#pragma once

#include <span>

#include "headrace.h"
#include "links/source.h"
#include "wire/frame.h"

namespace headrace {

// A frame as a sink records it: cut, with the time that its record shall show.
struct Record {
  const TxFrame* frame;
  uint32_t length;
  RecordTime time;

  hr_totals totals() const { return {1, length, frame->original_length()}; }
};

inline void add(hr_totals& to, const hr_totals& more) {
  to.packets += more.packets;
  to.captured_bytes += more.captured_bytes;
  to.wire_bytes += more.wire_bytes;
}

// What is left of `of` without `lost`.
inline hr_totals without(const hr_totals& of, const hr_totals& lost) {
  return {of.packets - lost.packets, of.captured_bytes - lost.captured_bytes, of.wire_bytes - lost.wire_bytes};
}

class Sink {
 public:
  virtual ~Sink() = default;

  // Called once before the first frame, with the format of the capture that frames come from, if any.
  virtual void begin(const CaptureFormat& source_format) = 0;
  virtual void take(const Record& record) = 0;
  virtual void flush() = 0;
  // Bytes of the file so far; 0 if there is none.
  virtual uint64_t size() const { return 0; }
  // Frames taken that are not in the file, since it could not be written.
  virtual hr_totals lost() const { return {}; }
  // Called once after the last frame.
  virtual void end(std::span<const hr_port_stats> ports, uint64_t time_ns) = 0;
};

}  // namespace headrace
