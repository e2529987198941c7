// The C interface: no exception leaves the library.
#include <algorithm>
#include <bit>
#include <climits>
#include <cstdio>
#include <string>

#include "card.h"
#include "headrace.h"
#include "record_writer.h"

struct hr_card {
  hr_card(uint64_t clock_hz, const char* trace) : card(clock_hz, trace) {}

  headrace::Card card;
  std::string error;
  int broken = HR_OK;  // the error after which the model can't go on
};

struct hr_writer {
  headrace::RecordWriter writer;
};

namespace {

using headrace::Error;

// Runs an action; gives its result or the code of the error that it threw.
template <class Action>
int guarded(hr_card* card, Action&& action) {
  try {
    return action();
  } catch (const Error& error) {
    card->error = error.what();
    if (error.code() == HR_ERROR_MODEL || error.code() == HR_ERROR_PROTOCOL) card->broken = error.code();
    return error.code();
  } catch (const std::exception& error) {
    card->error = error.what();
    return HR_ERROR_MODEL;
  }
}

// The same for what needs a working model.
template <class Action>
int running(hr_card* card, Action&& action) {
  if (card->broken != HR_OK) return card->broken;
  return guarded(card, action);
}

}  // namespace

extern "C" {

hr_card* hr_create(uint64_t clock_hz, const char* trace, char* error, size_t error_size) {
  try {
    if (clock_hz == 0 || clock_hz > headrace::kNsPerSecond) {
      throw Error(HR_ERROR_USAGE, "the clock is between 1 Hz and 1 GHz: two cycles must not have the same time in ns");
    }
    return std::make_unique<hr_card>(clock_hz, trace).release();
  } catch (const std::exception& failure) {
    std::snprintf(error, error_size, "%s", failure.what());
    return nullptr;
  }
}

void hr_destroy(hr_card* card) {
  if (card == nullptr) return;
  const std::unique_ptr<hr_card> owned(card);
  hr_close_sinks(card);
}

int hr_close_sinks(hr_card* card) {
  return guarded(card, [&] {
    card->card.close_sinks();
    return HR_OK;
  });
}

const char* hr_error(const hr_card* card) {
  return card->error.c_str();
}

hr_info hr_get_info(void) {
  return {headrace::kPorts, HR_DATA_W, HR_MEM_W, headrace::kPrograms, VM_TRACE};
}

int hr_set_option(hr_card* card, uint32_t option, uint64_t value) {
  return guarded(card, [&] {
    card->card.set_option(option, value);
    return HR_OK;
  });
}

int hr_set_rate(hr_card* card, uint32_t port, uint64_t bits_per_s) {
  return guarded(card, [&] {
    card->card.set_rate(port, bits_per_s);
    return HR_OK;
  });
}

int hr_set_flow_control(hr_card* card, uint32_t port, uint32_t on) {
  return guarded(card, [&] {
    card->card.set_flow_control(port, on != 0);
    return HR_OK;
  });
}

int hr_attach_source(hr_card* card, const hr_source* source) {
  return guarded(card, [&] {
    card->card.attach_source(*source);
    return HR_OK;
  });
}

int hr_attach_sink(hr_card* card, const hr_sink* sink) {
  return guarded(card, [&] {
    card->card.attach_sink(*sink);
    return HR_OK;
  });
}

int hr_end_source(hr_card* card, uint32_t port) {
  return guarded(card, [&] {
    card->card.end_source(port);
    return HR_OK;
  });
}

int hr_send(hr_card* card, uint32_t port, const uint8_t* data, uint32_t length, uint32_t wire_length,
            uint32_t bad_fcs) {
  return guarded(card, [&] {
    card->card.send(port, data, length, wire_length, bad_fcs != 0);
    return HR_OK;
  });
}

int hr_receive(hr_card* card, uint32_t port, int32_t program, hr_frame* frame) {
  return guarded(card, [&] { return card->card.receive(port, program, *frame) ? 1 : 0; });
}

int hr_stop_sources(hr_card* card) {
  return guarded(card, [&] {
    card->card.stop_sources();
    return HR_OK;
  });
}

int hr_expect_passthrough(hr_card* card, uint32_t source, uint32_t destination) {
  return guarded(card, [&] {
    card->card.expect_passthrough(source, destination);
    return HR_OK;
  });
}

int hr_run(hr_card* card, const hr_run_limits* limits) {
  return running(card, [&] { return card->card.run(*limits); });
}

int hr_read_register(hr_card* card, uint32_t address, uint32_t* value) {
  return running(card, [&] {
    *value = card->card.read_register(address);
    return HR_OK;
  });
}

int hr_write_registers(hr_card* card, const hr_register_write* writes, size_t count) {
  return running(card, [&] {
    card->card.write_registers({writes, count});
    return HR_OK;
  });
}

int hr_take_irqs(hr_card* card, hr_irq* irqs, size_t limit) {
  return static_cast<int>(card->card.take_irqs({irqs, limit}));
}

int hr_memory_map(hr_card* card, uint64_t address, uint64_t size, uint32_t read_only) {
  return guarded(card, [&] {
    card->card.memory().map(address, size, read_only != 0);
    return HR_OK;
  });
}

int hr_memory_unmap(hr_card* card, uint64_t address) {
  return guarded(card, [&] {
    card->card.memory().unmap(address);
    return HR_OK;
  });
}

uint8_t* hr_memory_at(hr_card* card, uint64_t address, uint64_t size) {
  return card->card.memory().at(address, size);
}

hr_writer* hr_open_writer(hr_card* card, const hr_sink* sink) {
  std::unique_ptr<hr_writer> writer;
  const int code = guarded(card, [&] {
    writer = std::unique_ptr<hr_writer>(new hr_writer{card->card.make_writer(*sink)});
    return HR_OK;
  });
  return code == HR_OK ? writer.release() : nullptr;
}

int hr_write_records(hr_card* card, hr_writer* writer, uint64_t ring_address, uint64_t ring_size, uint32_t from,
                     uint32_t to, const hr_writer_limits* limits, hr_writer_result* result) {
  return guarded(card, [&] {
    const uint8_t* ring = card->card.memory().at(ring_address, ring_size);
    if (ring == nullptr || !std::has_single_bit(ring_size) || to - from > ring_size) {
      throw Error(HR_ERROR_USAGE, "a capture ring has 2^n bytes within one range of host memory");
    }
    *result = writer->writer.write({ring, ring_size}, from, to, *limits);
    return HR_OK;
  });
}

int hr_close_writer(hr_card* card, hr_writer* writer, uint64_t received, uint64_t dropped) {
  const std::unique_ptr<hr_writer> owned(writer);
  return guarded(card, [&] {
    owned->writer.close(received, dropped);
    return HR_OK;
  });
}

int hr_open_packets(hr_card* card, const char* link, uint64_t address, uint64_t size) {
  return guarded(card, [&] { return card->card.packets().open(link, address, size); });
}

int hr_take_packets(hr_card* card, int handle, hr_packet* packets, size_t limit) {
  return guarded(card, [&] {
    return static_cast<int>(card->card.packets().at(handle).take({packets, std::min<size_t>(limit, INT_MAX)}));
  });
}

int hr_release_packets(hr_card* card, int handle, size_t count) {
  return guarded(card, [&] {
    card->card.packets().at(handle).release(count);
    return HR_OK;
  });
}

int hr_get_packets_state(hr_card* card, int handle, hr_packets_state* state) {
  return guarded(card, [&] {
    *state = card->card.packets().at(handle).state();
    return HR_OK;
  });
}

int hr_close_packets(hr_card* card, int handle) {
  return guarded(card, [&] {
    card->card.packets().close(handle);
    return HR_OK;
  });
}

hr_stats hr_get_stats(const hr_card* card) {
  return card->card.stats();
}

hr_port_stats hr_get_port_stats(const hr_card* card, uint32_t port) {
  if (port >= headrace::kPorts) return {};
  return card->card.port_stats(port);
}

int hr_get_passthrough_stats(const hr_card* card, uint32_t n, hr_passthrough_stats* stats) {
  return card->card.passthrough_stats(n, *stats) ? 1 : 0;
}

}  // extern "C"
