// SPDX-License-Identifier: Apache-2.0
#include "links/links.h"

#include <utility>

#include "error.h"
#include "links/generator.h"
#include "links/iface_sink.h"
#include "links/iface_source.h"
#include "links/link_settings.h"
#include "links/null_sink.h"
#include "links/pcap_sink.h"
#include "links/pcap_source.h"
#include "links/pcapng_sink.h"
#include "links/tap_sink.h"
#include "links/tap_source.h"
#include "links/xdp_source.h"
#include "memory/copied_packets.h"
#include "memory/xdp_packets.h"

namespace headrace {
namespace {

std::pair<std::string, std::string> split(const std::string& link) {
  const size_t colon = link.find(':');
  if (colon == std::string::npos) return {link, ""};
  return {link.substr(0, colon), link.substr(colon + 1)};
}

uint32_t port_number(const std::string& text) {
  if (text.empty() || text.size() > 3 || text.find_first_not_of("0123456789") != std::string::npos) {
    throw Error(HR_ERROR_USAGE, "port:" + text + " is not a port");
  }
  return static_cast<uint32_t>(std::stoul(text));
}

std::vector<PcapngSink::Interface> interfaces(const hr_sink& request, unsigned count) {
  const std::string filter = request.filter != nullptr ? request.filter : "";
  if (request.interface_name != nullptr) return {{request.interface_name, filter}};
  std::vector<PcapngSink::Interface> ports;
  for (unsigned port = 0; port < count; ++port) ports.push_back({"port" + std::to_string(port), filter});
  return ports;
}

}  // namespace

MadeSource Links::source(const std::string& link, bool offload) {
  const auto [kind, argument] = split(link);
  MadeSource made;
  if (kind == "pcap") {
    made.source = std::make_unique<PcapSource>(argument);
  } else if (kind == "gen") {
    auto generator = std::make_unique<Generator>(argument);
    made.bits_per_s = generator->rate();
    made.source = std::move(generator);
  } else if (kind == "iface") {
    made.source = std::make_unique<IfaceSource>(argument);
  } else if (kind == "xdp") {
    made.source = std::make_unique<XdpSource>(argument);
  } else if (kind == "tap") {
    made.source = std::make_unique<TapSource>(tap(argument, offload));
  } else if (kind == "queue" || kind == "port") {
    if (kind == "port") made.cable_from = port_number(argument);
    auto queue = std::make_unique<QueueSource>();
    made.queue = queue.get();
    made.source = std::move(queue);
  } else if (kind != "null") {
    throw Error(
        HR_ERROR_USAGE,
        "'" + link +
            "' is not a source: use pcap:FILE, gen:SPEC, port:N or null, or live: iface:NAME, xdp:NAME, tap:NAME");
  }
  return made;
}

MadeSink Links::sink(const hr_sink& request, bool offload) {
  const auto [kind, argument] = split(request.link);
  MadeSink made;
  if (kind == "pcap" && request.format == HR_FORMAT_PCAPNG) {
    made.sink = std::make_unique<PcapngSink>(argument, request.snapshot, interfaces(request, ports_));
  } else if (kind == "pcap") {
    made.sink = std::make_unique<PcapSink>(argument, request.precision == HR_PRECISION_NANO, request.snapshot);
  } else if (kind == "tap") {
    made.sink = std::make_unique<TapSink>(tap(argument, offload));
  } else if (kind == "iface") {
    made.sink = std::make_unique<IfaceSink>(IfaceSource::link(argument));
  } else if (kind == "xdp") {
    made.sink = std::make_unique<IfaceSink>(XdpReceiver::link(argument));
  } else if (kind == "memory") {
    auto memory = std::make_unique<MemorySink>();
    made.memory = memory.get();
    made.sink = std::move(memory);
  } else if (kind == "null") {
    made.sink = std::make_unique<NullSink>();
  } else {
    throw Error(HR_ERROR_USAGE, "'" + std::string(request.link) +
                                    "' is not a sink: use pcap:FILE, memory or null, or live: iface:NAME, xdp:NAME, "
                                    "tap:NAME");
  }
  return made;
}

std::unique_ptr<PacketMemory> Links::packets(const std::string& link, const PacketRange& range, KeptTimes* times) {
  const auto [kind, argument] = split(link);
  if (kind == "xdp") return std::make_unique<XdpPackets>(argument, range);
  MadeSource made = source(link);
  if (made.source == nullptr || made.queue != nullptr) {
    throw Error(HR_ERROR_USAGE, "'" + link + "' has no packets for the host's memory");
  }
  return std::make_unique<CopiedPackets>(std::move(made.source), range, times);
}

std::shared_ptr<TapDevice> Links::tap(const std::string& argument, bool offload) {
  const InterfaceLink link("tap", argument, {"mtu"});
  std::shared_ptr<TapDevice>& device = taps_[{link.name, offload}];
  if (device == nullptr) device = std::make_shared<TapDevice>(link.name, link.shown, offload);
  if (const auto mtu = link.settings.number("mtu", 68, 65521)) device->set_mtu(static_cast<uint32_t>(*mtu));
  return device;
}

}  // namespace headrace
