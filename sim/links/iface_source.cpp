// SPDX-License-Identifier: Apache-2.0
#include "links/iface_source.h"

#include <linux/filter.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "error.h"

namespace headrace {
namespace {

constexpr int kSnapshot = 262144;  // tcpdump's
constexpr uint64_t kBufferMiB = 64;
constexpr uint64_t kBlocks = 4;                     // of a MiB, as libpcap makes them
constexpr const char* kAny = "any";                 // all interfaces: no interface of the kernel's
constexpr const char* kAnyLinkType = "LINUX_SLL2";  // that tcpdump chooses for them

std::string why_not(int status, pcap_t* handle) {
  switch (status) {
    case PCAP_ERROR_NO_SUCH_DEVICE:
      return "no such interface";
    case PCAP_ERROR_PERM_DENIED:
    case PCAP_ERROR_PROMISC_PERM_DENIED:
      return "not permitted: to capture takes root or CAP_NET_RAW";
    case PCAP_ERROR_IFACE_NOT_UP:
      return "the interface is down";
    default: {
      const std::string reason = pcap_geterr(handle);
      return reason.empty() ? pcap_statustostr(status) : reason;
    }
  }
}

pcap_direction_t direction_of(const LinkSettings& settings) {
  const std::string direction = settings.text("direction", "inout");
  if (direction == "in") return PCAP_D_IN;
  if (direction == "out") return PCAP_D_OUT;
  if (direction != "inout") settings.refuse("direction", "must be in, out or inout");
  return PCAP_D_INOUT;
}

bool promiscuous_of(const LinkSettings& settings) {
  const std::string promiscuous = settings.text("promiscuous", "yes");
  if (promiscuous != "yes" && promiscuous != "no") settings.refuse("promiscuous", "must be yes or no");
  return promiscuous == "yes";
}

// Of those that the interface has, the link type that the user wants.
void set_link_type(pcap_t* handle, const InterfaceLink& link) {
  const bool chosen = link.settings.has("linktype");
  if (!chosen && link.name != kAny) return;
  const std::string name = link.settings.text("linktype", kAnyLinkType);
  const int type = pcap_datalink_name_to_val(name.c_str());
  if (chosen && type < 0) link.settings.refuse("linktype", "no link type");
  if (pcap_set_datalink(handle, type) != 0 && chosen) link.settings.refuse("linktype", pcap_geterr(handle));
}

}  // namespace

IfaceSource::IfaceSource(const InterfaceLink& link)
    : LiveSource(link.shown), interface_(link.name), any_(link.name == kAny) {
  const pcap_direction_t direction = direction_of(link.settings);
  const uint64_t buffer_mib = link.settings.number("buffer", 1, 2047).value_or(kBufferMiB);
  const uint64_t blocks = kBlocks * buffer_mib;
  const uint64_t needed_ms = std::clamp((kHeldMs + blocks - 1) / blocks, uint64_t{10}, uint64_t{100});
  block_ms_ = static_cast<int>(link.settings.number("timeout", 1, 1000).value_or(needed_ms));

  char reason[PCAP_ERRBUF_SIZE];
  capture_.emplace(pcap_create(link.name.c_str(), reason));
  pcap_t* handle = capture_->handle();
  if (handle == nullptr) throw Error(HR_ERROR_FILE, shown() + ": " + reason);
  pcap_set_snaplen(handle, kSnapshot);
  pcap_set_promisc(handle, promiscuous_of(link.settings));
  pcap_set_timeout(handle, block_ms_);
  pcap_set_buffer_size(handle, static_cast<int>(buffer_mib << 20));
  pcap_set_tstamp_precision(handle, PCAP_TSTAMP_PRECISION_NANO);  // else microseconds
  const int status = pcap_activate(handle);
  if (status < 0) throw Error(HR_ERROR_FILE, shown() + ": " + why_not(status, handle));
  set_link_type(handle, link);
  if (pcap_setnonblock(handle, 1, reason) != 0) throw Error(HR_ERROR_FILE, shown() + ": " + reason);
  if (direction != PCAP_D_INOUT && pcap_setdirection(handle, direction) != 0) {
    throw Error(HR_ERROR_FILE, shown() + ": " + pcap_geterr(handle));
  }
}

Next IfaceSource::next(RxFrame& frame) {
  if (ended_) return Next::kEnd;
  const int result = capture_->read();
  if (result == 1) {
    frame = capture_->frame();
    ++given_;
    return Next::kFrame;
  }
  if (!closing_) {
    const std::string why = result != 0 ? pcap_geterr(capture_->handle()) : any_ ? "" : interface_.why_down();
    if (result == 0 && why.empty()) return Next::kNotYet;
    close(why);  // libpcap would wait for it
    return next(frame);
  }
  ended_ = true;
  return reason_.empty() ? Next::kEnd : broken(reason_);
}

uint64_t IfaceSource::missed() const {
  pcap_stat statistics;
  if (pcap_stats(capture_->handle(), &statistics) != 0) return 0;
  return uint64_t{statistics.ps_drop} + statistics.ps_ifdrop;
}

// Too many where libpcap leaves out those of the other direction itself.
uint64_t IfaceSource::waiting() const {
  pcap_stat statistics;
  if (ended_ || pcap_stats(capture_->handle(), &statistics) != 0) return 0;
  return statistics.ps_recv - statistics.ps_drop - given_;
}

void IfaceSource::stop() {
  if (closing_) return;
  // Not by pcap_setfilter(), which is for the packets in the ring as well.
  sock_filter nothing{BPF_RET | BPF_K, 0, 0, 0};
  const sock_fprog program{1, &nothing};
  ::setsockopt(pcap_fileno(capture_->handle()), SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program);
  close("");
}

// Nothing new gets into the ring: waits until the kernel has handed over its last block.
void IfaceSource::close(const std::string& reason) {
  closing_ = true;
  reason_ = reason;
  std::this_thread::sleep_for(std::chrono::milliseconds(3 * block_ms_));
}

}  // namespace headrace
