// SPDX-License-Identifier: Apache-2.0
// Makes what links name: sources, sinks and packets in host memory, by "kind:argument".
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "headrace.h"
#include "links/memory_sink.h"
#include "links/queue_source.h"
#include "links/sink.h"
#include "links/source.h"
#include "links/tap_device.h"
#include "memory/kept_times.h"
#include "memory/packet_memory.h"

namespace headrace {

struct MadeSource {
  std::unique_ptr<Source> source;  // none for "null"
  QueueSource* queue = nullptr;    // the same source, if it is one
  std::optional<uint32_t> cable_from;
  std::optional<uint64_t> bits_per_s;  // that the link itself asks for
};

struct MadeSink {
  std::unique_ptr<Sink> sink;
  MemorySink* memory = nullptr;  // the same sink, if it is one
};

class Links {
 public:
  explicit Links(unsigned ports) : ports_(ports) {}

  // All throw Error when the link is wrong or what it names can't be opened. With `offload` frames of a TAP device have
  // a virtio-net header.
  MadeSource source(const std::string& link, bool offload = false);
  MadeSink sink(const hr_sink& request, bool offload = false);
  std::unique_ptr<PacketMemory> packets(const std::string& link, const PacketRange& range, KeptTimes* times);

 private:
  std::shared_ptr<TapDevice> tap(const std::string& argument, bool offload);

  unsigned ports_;
  std::map<std::pair<std::string, bool>, std::shared_ptr<TapDevice>> taps_;  // stay as long as the card
};

}  // namespace headrace
