// SPDX-License-Identifier: Apache-2.0
// Where the frames of a receiving port come from.
#pragma once

#include <optional>
#include <string>

#include "wire/frame.h"

namespace headrace {

enum class Next { kFrame, kNotYet, kEnd };

// What a capture's header says about its records, or an interface about its packets; a copy of them repeats it.
struct CaptureFormat {
  int link_type = 1;                 // DLT_EN10MB: Ethernet, of which all is that comes from elsewhere
  int snapshot = 262144;             // tcpdump's default
  bool swapped = false;              // the byte order of the file is not this machine's
  uint32_t link_type_extension = 0;  // the bits above the link type: length of the FCS and flags
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

  // Whether the link is up that frames come by.
  virtual bool link_up() const { return true; }

  // What the host calls the interface now; "": it is none that can be renamed, or has gone.
  virtual std::string link_name() const { return {}; }

  // Frames that were lost on the way to the source.
  virtual uint64_t missed() const { return 0; }

  // Frames that a live source is known to have, and that next() will give.
  virtual uint64_t waiting() const { return 0; }

  // Frames come when they come, from programs and other machines, with the time of day.
  virtual bool live() const { return false; }

  // Lets a live source end: nothing new is taken, and what has been taken still comes.
  virtual void stop() {}

  virtual std::optional<CaptureFormat> format() const { return std::nullopt; }

  // Time of the first frame in ns since the epoch, if frames have times. A live source has none before it began.
  virtual std::optional<uint64_t> first_time_ns() { return std::nullopt; }
};

}  // namespace headrace
