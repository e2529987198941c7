// SPDX-License-Identifier: Apache-2.0
#include "links/record_writer.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "error.h"
#include "wire/pacing.h"

namespace headrace {

// A record's header in the ring, as in a pcap file.
struct RecordWriter::Header {
  uint32_t seconds;
  uint32_t nanoseconds;
  uint32_t captured;
  uint32_t length;
};

RecordWriter::RecordWriter(std::unique_ptr<Sink> sink, const CaptureFormat& format, const Arrivals* arrivals,
                           KeptTimes* kept)
    : sink_(std::move(sink)), arrivals_(arrivals), kept_(kept) {
  sink_->begin(format);
}

hr_writer_result RecordWriter::write(std::span<const uint8_t> ring, uint32_t from, uint32_t to,
                                     const hr_writer_limits& limits) {
  hr_writer_result result{};
  result.reached = from;
  uint32_t lost = limits.lost;
  while (result.reached != to) {
    const uint32_t waiting = to - result.reached;
    Header header;
    if (waiting >= sizeof header) std::memcpy(&header, bytes(ring, result.reached, sizeof header), sizeof header);
    if (waiting < sizeof header || header.captured > waiting - sizeof header || header.nanoseconds >= kNsPerSecond) {
      throw Error(HR_ERROR_CAPTURE,
                  "the capture ring holds no record at byte " + std::to_string(result.reached % ring.size()));
    }
    const RecordTime time = recorded({header.seconds, header.nanoseconds, true});
    const uint64_t time_ns = Pacing::time_ns(time);
    if (limits.packets != 0 && result.packets == limits.packets) {
      result.stop = HR_WRITER_PACKETS;
    } else if (limits.before_ns != 0 && time_ns >= limits.before_ns) {
      result.stop = HR_WRITER_TIME;
    } else if (limits.file_bytes != 0 && sink_->size() > limits.file_bytes) {
      result.stop = HR_WRITER_SIZE;
    }
    if (result.stop != HR_WRITER_END) {
      result.next_ns = time_ns;
      break;
    }
    TxFrame frame;
    frame.data = bytes(ring, result.reached + sizeof header, header.captured);
    frame.length = header.captured;
    frame.wire_length = header.length;
    frame.cut = true;
    frame.lost = lost;
    put(frame, header.captured, time);
    lost = 0;
    ++result.packets;
    result.cut += header.captured == limits.longest && header.length > header.captured;
    result.captured_bytes += header.captured;
    result.wire_bytes += header.length;
    result.reached += static_cast<uint32_t>(sizeof header) + header.captured;
  }
  result.file_bytes = sink_->size();
  if (limits.flush != 0) sink_->flush();
  return result;
}

void RecordWriter::write(HostMemory& memory, std::span<const hr_packet> packets) {
  for (const hr_packet& packet : packets) {
    TxFrame frame;
    frame.data = memory.at(0, packet.address, packet.length);
    if (frame.data == nullptr) throw Error(HR_ERROR_USAGE, "a packet to write is not in one range of host memory");
    frame.length = packet.length;
    frame.wire_length = packet.wire_length;
    frame.cut = packet.wire_length != packet.length;
    put(frame, packet.length,
        {static_cast<int64_t>(packet.timestamp_ns / kNsPerSecond),
         static_cast<int64_t>(packet.timestamp_ns % kNsPerSecond), true});
  }
}

RecordTime RecordWriter::recorded(const RecordTime& time) {
  if (kept_ != nullptr) return kept_->find(time);
  return arrivals_ == nullptr ? time : arrivals_->find(Pacing::time_ns(time), hint_).value_or(time);
}

void RecordWriter::put(TxFrame& frame, uint32_t length, const RecordTime& time) {
  const Record record{&frame, length, time};
  add(taken_, record.totals());
  sink_->take(record);
  time_ns_ = Pacing::time_ns(time);
}

// Bytes of the ring in one piece.
const uint8_t* RecordWriter::bytes(std::span<const uint8_t> ring, uint32_t at, uint32_t size) {
  const size_t start = at % ring.size();
  if (size <= ring.size() - start) return ring.data() + start;
  const auto first = ring.subspan(start);
  straight_.assign(first.begin(), first.end());
  straight_.insert(straight_.end(), ring.begin(), ring.begin() + static_cast<std::ptrdiff_t>(size - first.size()));
  return straight_.data();
}

void RecordWriter::close(uint64_t received, uint64_t dropped) {
  hr_port_stats stats{};
  stats.rx_frames = received - std::min(received, dropped);
  stats.rx_overruns = dropped;
  sink_->end({&stats, 1}, time_ns_);
}

}  // namespace headrace
