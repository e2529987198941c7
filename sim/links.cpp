#include "links.h"

#include <utility>

#include "error.h"
#include "generator.h"
#include "null_sink.h"
#include "pcap_sink.h"
#include "pcap_source.h"
#include "pcapng_sink.h"

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

std::vector<PcapngSink::Interface> interfaces(const hr_sink& request) {
  const std::string filter = request.filter != nullptr ? request.filter : "";
  if (request.interface_name != nullptr) return {{request.interface_name, filter}};
  std::vector<PcapngSink::Interface> ports;
  for (unsigned port = 0; port < kPorts; ++port) ports.push_back({"port" + std::to_string(port), filter});
  return ports;
}

}  // namespace

MadeSource make_source(const std::string& link) {
  const auto [kind, argument] = split(link);
  MadeSource made;
  if (kind == "pcap") {
    made.source = std::make_unique<PcapSource>(argument);
  } else if (kind == "gen") {
    auto generator = std::make_unique<Generator>(argument);
    made.bits_per_s = generator->rate();
    made.source = std::move(generator);
  } else if (kind == "queue" || kind == "port") {
    if (kind == "port") made.cable_from = port_number(argument);
    auto queue = std::make_unique<QueueSource>();
    made.queue = queue.get();
    made.source = std::move(queue);
  } else if (kind != "null") {
    throw Error(HR_ERROR_USAGE, "'" + link + "' is not a source: use pcap:FILE, gen:SPEC, port:N or null");
  }
  return made;
}

MadeSink make_sink(const hr_sink& request) {
  const auto [kind, argument] = split(request.link);
  MadeSink made;
  if (kind == "pcap" && request.format == HR_FORMAT_PCAPNG) {
    made.sink = std::make_unique<PcapngSink>(argument, request.snapshot, interfaces(request));
  } else if (kind == "pcap") {
    made.sink = std::make_unique<PcapSink>(argument, request.precision == HR_PRECISION_NANO, request.snapshot);
  } else if (kind == "memory") {
    auto memory = std::make_unique<MemorySink>();
    made.memory = memory.get();
    made.sink = std::move(memory);
  } else if (kind == "null") {
    made.sink = std::make_unique<NullSink>();
  } else {
    throw Error(HR_ERROR_USAGE, "'" + std::string(request.link) + "' is not a sink: use pcap:FILE, memory or null");
  }
  return made;
}

}  // namespace headrace
