// Where the frames of a receiving port come from.
#pragma once

#include <optional>
#include <string>

#include "frame.h"

namespace headrace {

enum class Next { kFrame, kNotYet, kEnd };

// What a capture file's header says about its records; a copy of the records repeats it.
struct CaptureFormat {
  int snapshot = 0;
  uint32_t link_type_extension = 0;
};

class Source {
 public:
  virtual ~Source() = default;

  // Gives the next frame. kNotYet: none now, but there may be one later.
  virtual Next next(RxFrame& frame) = 0;

  // What to wait for after kNotYet: a descriptor that becomes readable, or -1 if frames come by other ways.
  virtual int waits_for() const { return -1; }

  // What went wrong with the source, once it has ended because of it.
  virtual const std::string& fault() const {
    static const std::string none;
    return none;
  }

  virtual std::optional<CaptureFormat> format() const { return std::nullopt; }

  // Time of the first frame in ns since the epoch, if frames have times.
  virtual std::optional<uint64_t> first_time_ns() { return std::nullopt; }
};

}  // namespace headrace
