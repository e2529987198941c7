// SPDX-License-Identifier: Apache-2.0
// Reads pcap and pcapng files of any byte order and precision through libpcap.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "links/capture.h"
#include "links/source.h"

namespace headrace {

class PcapSource : public Source {
 public:
  // "-" is standard input. Throws Error when there is no capture.
  explicit PcapSource(const std::string& path);
  ~PcapSource() override;

  Next next(RxFrame& frame) override;
  int waits_for() const override;
  const std::string& fault() const override { return fault_; }
  std::optional<CaptureFormat> format() const override { return capture_->format(); }
  std::optional<uint64_t> first_time_ns() override;

 private:
  class Input;

  void read();

  std::string name_;
  std::unique_ptr<Input> input_;
  std::optional<Capture> capture_;
  uint64_t packets_ = 0;
  std::string fault_;
  bool ended_ = false;
  bool held_ = false;  // a record has been read that next() has not given yet
};

}  // namespace headrace
