// SPDX-License-Identifier: Apache-2.0
#include "links/capture.h"

#include <cstdio>
#include <memory>

#include "error.h"

namespace headrace {

CaptureFormat Capture::format() const {
  return {pcap_datalink(handle_), pcap_snapshot(handle_), pcap_is_swapped(handle_) == 1,
          static_cast<uint32_t>(pcap_datalink_ext(handle_))};
}

std::string link_type_name(int type) {
  const char* known = pcap_datalink_val_to_name(type);
  return known != nullptr ? known : std::to_string(type);
}

// libpcap numbers some link types otherwise in files than in memory, and tells the file's numbers only by writing them.
SavefileHeader savefile_header(const CaptureFormat& format) {
  constexpr auto close = [](pcap_t* handle) { pcap_close(handle); };
  const std::unique_ptr<pcap_t, decltype(close)> like(pcap_open_dead(format.link_type, format.snapshot));
  if (!like) throw Error(HR_ERROR_FILE, "libpcap: out of memory");
  SavefileHeader header{};
  pcap_dumper_t* dumper = pcap_dump_fopen(like.get(), ::fmemopen(&header, sizeof header, "w"));
  if (dumper == nullptr) throw Error(HR_ERROR_FILE, std::string("libpcap: ") + pcap_geterr(like.get()));
  pcap_dump_close(dumper);
  header.link_type |= format.link_type_extension;
  return header;
}

}  // namespace headrace
