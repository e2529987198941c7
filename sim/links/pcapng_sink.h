// SPDX-License-Identifier: Apache-2.0
// Writes pcapng files (draft-ietf-opsawg-pcapng), which libpcap can't: an interface for each port that packets came in
// at, or one of a given name and filter, times in nanoseconds, packets lost before a packet, and the interfaces'
// counters at the end.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "links/record_file.h"
#include "links/sink.h"

namespace headrace {

class PcapngSink : public Sink {
 public:
  struct Interface {
    std::string name;
    std::string filter;  // empty: none
  };

  PcapngSink(const std::string& path, uint32_t snapshot, std::vector<Interface> interfaces)
      : file_(path), snapshot_(snapshot), interfaces_(std::move(interfaces)) {}

  void begin(const CaptureFormat& source_format) override;
  void take(const Record& record) override;
  void flush() override { file_.flush(); }
  uint64_t size() const override { return file_.size(); }
  hr_totals lost() const override { return file_.lost(); }
  void end(std::span<const hr_port_stats> ports, uint64_t time_ns) override;

 private:
  void start(uint32_t type);
  template <class T>
  void put(T value);
  void put_bytes(const void* data, size_t size);
  void put_option(uint16_t code, const void* data, size_t size);
  void finish(const hr_totals& packet = {});

  RecordFile file_;
  uint32_t snapshot_;
  std::vector<Interface> interfaces_;
  std::vector<uint8_t> block_;
};

}  // namespace headrace
