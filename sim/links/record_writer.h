// SPDX-License-Identifier: Apache-2.0
// Turns the records of a capture ring in host memory into files: what the ring holds is the body of a pcap file with
// times in nanoseconds, which a sink takes record by record. Packets that lie anywhere in host memory go the same way.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "headrace.h"
#include "links/sink.h"
#include "memory/host_memory.h"
#include "memory/kept_times.h"
#include "wire/arrivals.h"

namespace headrace {

class RecordWriter {
 public:
  // With `arrivals`, records get the recorded times of what arrived at their times; with `kept`, those kept there.
  RecordWriter(std::unique_ptr<Sink> sink, const CaptureFormat& format, const Arrivals* arrivals, KeptTimes* kept);

  // Writes the records between two byte counts, as far as the limits let it. Throws Error when the file can't be
  // written, or when what is there is no record.
  hr_writer_result write(std::span<const uint8_t> ring, uint32_t from, uint32_t to, const hr_writer_limits& limits);
  // Writes packets of host memory, function 0's. Throws Error when one isn't within a mapped range, too.
  void write(HostMemory& memory, std::span<const hr_packet> packets);
  void close(uint64_t received, uint64_t dropped);
  // Of the packets in the file.
  hr_totals totals() const { return without(taken_, sink_->lost()); }

 private:
  struct Header;

  RecordTime recorded(const RecordTime& time);
  void put(TxFrame& frame, uint32_t length, const RecordTime& time);
  const uint8_t* bytes(std::span<const uint8_t> ring, uint32_t at, uint32_t size);

  std::unique_ptr<Sink> sink_;
  const Arrivals* arrivals_;
  KeptTimes* kept_;
  hr_totals taken_{};
  uint64_t hint_ = 0;
  uint64_t time_ns_ = 0;           // of the last record
  std::vector<uint8_t> straight_;  // bytes that wrap in the ring
};

}  // namespace headrace
