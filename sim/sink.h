// Where the frames that a port sends go.
#pragma once

#include <span>

#include "frame.h"
#include "headrace.h"
#include "source.h"

namespace headrace {

// A frame as a sink records it: cut, with the time that its record shall show.
struct Record {
  const TxFrame* frame;
  uint32_t length;
  RecordTime time;
};

class Sink {
 public:
  virtual ~Sink() = default;

  // Called once before the first frame, with the format of the capture that frames come from, if any.
  virtual void begin(const CaptureFormat& source_format) = 0;
  virtual void take(const Record& record) = 0;
  virtual void flush() = 0;
  // Bytes of the file so far; 0 if there is none.
  virtual uint64_t size() const { return 0; }
  // Called once after the last frame.
  virtual void end(std::span<const hr_port_stats> ports, uint64_t time_ns) = 0;
};

}  // namespace headrace
