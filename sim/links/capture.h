// SPDX-License-Identifier: Apache-2.0
// An open libpcap handle, of a file or of an interface: its packets as frames.
#pragma once

#include <pcap/pcap.h>

#include <string>

#include "links/source.h"
#include "wire/frame.h"

namespace headrace {

// As libpcap calls it; its number where it has no name.
std::string link_type_name(int type);

// What a pcap file begins with.
struct SavefileHeader {
  uint32_t magic;
  uint16_t major;
  uint16_t minor;
  int32_t zone;
  uint32_t accuracy;
  uint32_t snapshot;
  uint32_t link_type;  // as files number it, with the length of the FCS and other bits above
};

// That of a file with times in microseconds. Throws Error when there is no number for the link type in files.
SavefileHeader savefile_header(const CaptureFormat& format);

class Capture {
 public:
  explicit Capture(pcap_t* handle) : handle_(handle) {}
  ~Capture() {
    if (handle_ != nullptr) pcap_close(handle_);
  }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  pcap_t* handle() const { return handle_; }

  CaptureFormat format() const;

  // pcap_next_ex(): 1 is a packet, which frame() then gives.
  int read() { return pcap_next_ex(handle_, &header_, &data_); }
  RxFrame frame() const {
    return {data_, header_->caplen, header_->len, header_->len != header_->caplen, false, true, time()};
  }
  RecordTime time() const {
    return {header_->ts.tv_sec, header_->ts.tv_usec, pcap_get_tstamp_precision(handle_) == PCAP_TSTAMP_PRECISION_NANO};
  }

 private:
  pcap_t* handle_;
  pcap_pkthdr* header_ = nullptr;
  const uint8_t* data_ = nullptr;
};

}  // namespace headrace
