// SPDX-License-Identifier: Apache-2.0
// Frames as they travel between links and MACs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "wire/clock.h"

namespace headrace {

// A capture record's time as the file holds it, so that a copy of the record gets the same bytes even when the fraction
// is not a valid one.
struct RecordTime {
  int64_t seconds = 0;
  int64_t fraction = 0;      // as libpcap gives it: below 0 for 2^31 and more in a file of this machine's byte order
  bool nanoseconds = false;  // unit of the fraction; otherwise microseconds
};

// A frame on its way into the card. The bytes belong to the source and stay until its next one is asked for.
struct RxFrame {
  const uint8_t* data = nullptr;
  uint32_t length = 0;
  uint32_t wire_length = 0;  // of a frame that a capture had cut
  bool cut = false;
  bool error = false;
  bool has_time = false;
  RecordTime time;
  const uint8_t* offload = nullptr;  // a virtio-net header: checksum and segmentation are left to who sends it

  uint32_t original_length() const { return cut ? wire_length : length; }
};

// tx_meta_t, from its least significant bit on: timestamp_ns[64], wire_len[32], cut, error, port[8], lost[32]. The
// card's own bits follow. rx_meta_t: wire_len[32], cut, error.
inline constexpr unsigned kTxMetaBits = 64 + 32 + 1 + 1 + 8 + 32;
inline constexpr unsigned kRxMetaBits = 32 + 1 + 1;

// A frame that the card has sent, with what came beside it.
struct TxFrame {
  const uint8_t* data = nullptr;
  uint32_t length = 0;
  uint32_t wire_length = 0;  // of a frame that was cut
  bool cut = false;
  bool error = false;
  uint8_t port = 0;  // where the packet came in, as the card says
  uint32_t lost = 0;
  uint64_t timestamp_ns = 0;
  std::vector<uint64_t> user;  // the card's own bits

  uint32_t original_length() const { return cut ? wire_length : length; }
};

// Ethernet on the wire, in bytes (IEEE 802.3 clauses 3 and 4): what a frame takes beside its own bytes.
inline constexpr uint32_t kPreamble = 8;
inline constexpr uint32_t kFcs = 4;
inline constexpr uint32_t kGap = 12;
inline constexpr uint32_t kMinimum = 60;

constexpr uint32_t padded(uint32_t length) {
  return std::max(length, kMinimum);
}
constexpr uint32_t wire_bytes(uint32_t length) {
  return kPreamble + padded(length) + kFcs + kGap;
}

}  // namespace headrace
