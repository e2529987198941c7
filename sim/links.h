// Makes the sources and sinks that links name: "kind:argument".
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "headrace.h"
#include "memory_sink.h"
#include "queue_source.h"
#include "sink.h"
#include "source.h"

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

// Both throw Error when the link is wrong or its file can't be opened.
MadeSource make_source(const std::string& link);
MadeSink make_sink(const hr_sink& request);

}  // namespace headrace
