// SPDX-License-Identifier: Apache-2.0
// Sends frames by an interface of the host. They are lost while that is down, and when it has gone.
#pragma once

#include <span>

#include "links/sink.h"

namespace headrace {

class LiveSink : public Sink {
 public:
  // Throws Error when the frames have no Ethernet headers.
  void begin(const CaptureFormat& source_format) override;
  // Throws Error when the interface is there and can't send.
  void take(const Record& record) override;
  void flush() override {}
  hr_totals lost() const override { return lost_; }
  void end(std::span<const hr_port_stats>, uint64_t) override {}

 protected:
  explicit LiveSink(std::string shown) : shown_(std::move(shown)) {}

  const std::string& shown() const { return shown_; }

 private:
  // Gives 0, or an errno.
  virtual int send(std::span<const uint8_t> frame) = 0;
  // Whether the errno says that this frame can't be sent, rather than that something is wrong.
  virtual bool loses(int error) const = 0;

  std::string shown_;  // "kind:NAME", for messages
  hr_totals lost_{};
};

}  // namespace headrace
