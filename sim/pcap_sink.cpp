#include "pcap_sink.h"

#include <cstdio>
#include <cstring>

#include "error.h"

namespace headrace {
namespace {

struct FileHeader {
  uint32_t magic;
  uint16_t major;
  uint16_t minor;
  int32_t zone;
  uint32_t accuracy;
  uint32_t snapshot;
  uint32_t link_type;
};

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
  const uint32_t snapshot = snapshot_ != 0 ? snapshot_ : static_cast<uint32_t>(source_format.snapshot);
  FileHeader header{0xa1b2c3d4, 2, 4, 0, 0, snapshot, DLT_EN10MB | source_format.link_type_extension};
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
  header.len = record.frame->wire_length != 0 ? record.frame->wire_length : record.frame->length;
  pcap_dump(reinterpret_cast<u_char*>(dumper_), &header, record.frame->data);
  file_.commit();
}

void PcapSink::end(std::span<const hr_port_stats>, uint64_t) {
  file_.close();
}

PcapSink::~PcapSink() {
  if (dumper_ != nullptr) pcap_dump_close(dumper_);
}

}  // namespace headrace
