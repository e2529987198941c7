// SPDX-License-Identifier: Apache-2.0
#include "links/pcap_sink.h"

#include <cstdio>
#include <cstring>

#include "error.h"
#include "links/capture.h"

namespace headrace {
namespace {

ssize_t append(void* file, const char* data, size_t size) {
  static_cast<RecordFile*>(file)->append(data, size);
  return static_cast<ssize_t>(size);
}

struct ClosePcap {
  void operator()(pcap_t* handle) const { pcap_close(handle); }
};

}  // namespace

void PcapSink::begin(const CaptureFormat& source_format) {
  // libpcap writes a file header from an open capture, and only from one it takes the bits above the link type: so it
  // is given one that consists of a header only.
  SavefileHeader header = savefile_header(source_format);
  if (snapshot_ != 0) header.snapshot = snapshot_;
  FILE* memory = ::fmemopen(&header, sizeof header, "r");
  char reason[PCAP_ERRBUF_SIZE];
  const auto precision = nanoseconds_ ? PCAP_TSTAMP_PRECISION_NANO : PCAP_TSTAMP_PRECISION_MICRO;
  const std::unique_ptr<pcap_t, ClosePcap> like(pcap_fopen_offline_with_tstamp_precision(memory, precision, reason));
  if (!like) throw Error(HR_ERROR_FILE, std::string("libpcap: ") + reason);

  FILE* stream = ::fopencookie(&file_, "w", {nullptr, append, nullptr, nullptr});
  std::setvbuf(stream, nullptr, _IONBF, 0);
  dumper_ = pcap_dump_fopen(like.get(), stream);
  if (dumper_ == nullptr) throw Error(HR_ERROR_FILE, std::string("libpcap: ") + pcap_geterr(like.get()));
  file_.commit();
}

void PcapSink::take(const Record& record) {
  pcap_pkthdr header{};
  header.ts.tv_sec = record.time.seconds;
  header.ts.tv_usec = record.time.fraction;
  if (nanoseconds_ && !record.time.nanoseconds) header.ts.tv_usec *= 1000;
  if (!nanoseconds_ && record.time.nanoseconds) header.ts.tv_usec /= 1000;
  header.caplen = record.length;
  header.len = record.frame->original_length();
  pcap_dump(reinterpret_cast<u_char*>(dumper_), &header, record.frame->data);
  file_.commit(record.totals());
}

void PcapSink::end(std::span<const hr_port_stats>, uint64_t) {
  file_.close();
}

PcapSink::~PcapSink() {
  if (dumper_ != nullptr) pcap_dump_close(dumper_);
}

}  // namespace headrace
