// An open libpcap handle, of a file or of an interface: its packets as frames.
#pragma once

#include <pcap/pcap.h>

#include <string>

#include "frame.h"

namespace headrace {

class Capture {
 public:
  explicit Capture(pcap_t* handle) : handle_(handle) {}
  ~Capture() {
    if (handle_ != nullptr) pcap_close(handle_);
  }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  pcap_t* handle() const { return handle_; }

  // Throws Error when the packets are not Ethernet frames.
  void require_ethernet(const std::string& name) const;

  // pcap_next_ex(): 1 is a packet, which frame() then gives.
  int read() { return pcap_next_ex(handle_, &header_, &data_); }
  RxFrame frame() const { return {data_, header_->caplen, header_->len, false, true, time()}; }
  RecordTime time() const {
    return {header_->ts.tv_sec, static_cast<uint32_t>(header_->ts.tv_usec),
            pcap_get_tstamp_precision(handle_) == PCAP_TSTAMP_PRECISION_NANO};
  }

 private:
  pcap_t* handle_;
  pcap_pkthdr* header_ = nullptr;
  const uint8_t* data_ = nullptr;
};

}  // namespace headrace
