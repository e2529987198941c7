// SPDX-License-Identifier: Apache-2.0
#include "links/pcapng_sink.h"

#include <limits>

#include "error.h"
#include "links/capture.h"
#include "wire/pacing.h"

namespace headrace {
namespace {

constexpr uint32_t kSectionHeader = 0x0A0D0D0A;
constexpr uint32_t kInterfaceDescription = 1;
constexpr uint32_t kInterfaceStatistics = 5;
constexpr uint32_t kEnhancedPacket = 6;
constexpr uint32_t kByteOrderMagic = 0x1A2B3C4D;
constexpr uint8_t kNanoseconds = 9;
constexpr int64_t kSeconds = std::numeric_limits<uint64_t>::max() / kNsPerSecond - 4;  // and a fraction of 32 bits
constexpr char kFilterExpression = 0;  // as libpcap takes it, not its bytecode

constexpr uint16_t kUserApplication = 4;  // of a section header
constexpr uint16_t kInterfaceName = 2;    // of an interface
constexpr uint16_t kTimeResolution = 9;
constexpr uint16_t kFilter = 11;
constexpr uint16_t kDropCount = 4;  // of a packet
constexpr uint16_t kEndTime = 3;    // of statistics
constexpr uint16_t kReceived = 4;
constexpr uint16_t kDropped = 5;

}  // namespace

void PcapngSink::begin(const CaptureFormat& source_format) {
  start(kSectionHeader);
  put(kByteOrderMagic);
  put(uint16_t{1});
  put(uint16_t{0});
  put(int64_t{-1});  // length of the section: not known
  put_option(kUserApplication, "headrace", 8);
  put(uint32_t{0});
  finish();
  const SavefileHeader header = savefile_header(source_format);
  const uint32_t snapshot = snapshot_ != 0 ? snapshot_ : header.snapshot;
  for (const Interface& interface : interfaces_) {
    start(kInterfaceDescription);
    put(static_cast<uint16_t>(header.link_type));  // without the bits above
    put(uint16_t{0});
    put(snapshot);
    put_option(kInterfaceName, interface.name.data(), interface.name.size());
    put_option(kTimeResolution, &kNanoseconds, 1);
    if (!interface.filter.empty()) {
      const std::string filter = std::string(1, kFilterExpression) + interface.filter;
      put_option(kFilter, filter.data(), filter.size());
    }
    put(uint32_t{0});
    finish();
  }
}

void PcapngSink::take(const Record& record) {
  const TxFrame& frame = *record.frame;
  const uint64_t time = Pacing::time_ns(record.time);
  if (record.time.seconds >= kSeconds) {
    throw Error(HR_ERROR_FILE, file_.name() + ": a packet of second " + std::to_string(record.time.seconds) +
                                   " is too late for pcapng's times in nanoseconds");
  }
  start(kEnhancedPacket);
  put(uint32_t{frame.port < interfaces_.size() ? frame.port : 0u});
  put(static_cast<uint32_t>(time >> 32));
  put(static_cast<uint32_t>(time));
  put(record.length);
  put(frame.original_length());
  put_bytes(frame.data, record.length);
  if (frame.lost != 0) {
    const uint64_t lost = frame.lost;
    put_option(kDropCount, &lost, sizeof lost);
    put(uint32_t{0});
  }
  finish(record.totals());
}

void PcapngSink::end(std::span<const hr_port_stats> ports, uint64_t time_ns) {
  for (uint32_t port = 0; port < ports.size(); ++port) {
    const uint64_t dropped = ports[port].rx_overruns + ports[port].rx_missed;
    const uint64_t received = ports[port].rx_frames + dropped;
    const uint32_t time[2] = {static_cast<uint32_t>(time_ns >> 32), static_cast<uint32_t>(time_ns)};
    start(kInterfaceStatistics);
    put(port);
    put(time[0]);
    put(time[1]);
    put_option(kEndTime, time, sizeof time);
    put_option(kReceived, &received, sizeof received);
    put_option(kDropped, &dropped, sizeof dropped);
    put(uint32_t{0});
    finish();
  }
  file_.close();
}

void PcapngSink::start(uint32_t type) {
  block_.clear();
  put(type);
  put(uint32_t{0});  // length, written by finish()
}

template <class T>
void PcapngSink::put(T value) {
  const size_t at = block_.size();
  block_.resize(at + sizeof value);
  std::memcpy(block_.data() + at, &value, sizeof value);
}

void PcapngSink::put_bytes(const void* data, size_t size) {
  const size_t at = block_.size();
  block_.resize(at + (size + 3) / 4 * 4);  // padding is zeros
  if (size != 0) std::memcpy(block_.data() + at, data, size);
}

void PcapngSink::put_option(uint16_t code, const void* data, size_t size) {
  put(code);
  put(static_cast<uint16_t>(size));
  put_bytes(data, size);
}

void PcapngSink::finish(const hr_totals& packet) {
  const auto length = static_cast<uint32_t>(block_.size() + 4);
  std::memcpy(block_.data() + 4, &length, sizeof length);
  put(length);
  file_.append(block_.data(), block_.size());
  file_.commit(packet);
}

}  // namespace headrace
