// SPDX-License-Identifier: Apache-2.0
// Writes pcap files through libpcap.
#pragma once

#include <pcap/pcap.h>

#include <memory>
#include <string>

#include "links/record_file.h"
#include "links/sink.h"

namespace headrace {

class PcapSink : public Sink {
 public:
  // snapshot 0: as in the captures read.
  PcapSink(const std::string& path, bool nanoseconds, uint32_t snapshot)
      : file_(path), nanoseconds_(nanoseconds), snapshot_(snapshot) {}
  ~PcapSink() override;

  void begin(const CaptureFormat& source_format) override;
  void take(const Record& record) override;
  void flush() override { file_.flush(); }
  uint64_t size() const override { return file_.size(); }
  hr_totals lost() const override { return file_.lost(); }
  void end(std::span<const hr_port_stats> ports, uint64_t time_ns) override;

 private:
  RecordFile file_;
  bool nanoseconds_;
  uint32_t snapshot_;
  pcap_dumper_t* dumper_ = nullptr;
};

}  // namespace headrace
