// SPDX-License-Identifier: Apache-2.0
// The C interface: no exception leaves the library.
#include <algorithm>
#include <atomic>
#include <bit>
#include <climits>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "card/card.h"
#include "card/coordinator.h"
#include "headrace.h"
#include "links/record_writer.h"
#include "memory/shared_bytes.h"

struct hr_card {
  hr_card(const char* model, uint64_t clock_hz, const char* trace) : card(model, clock_hz, trace) {}

  headrace::Card card;
  std::atomic<bool> entered = false;  // a thread is inside a call
  int broken = HR_OK;                 // the error after which the card can't go on
  std::string reason;                 // of it
};

struct hr_writer {
  headrace::RecordWriter writer;
};

struct hr_coordinator {
  headrace::Coordinator coordinator;
  std::vector<hr_card*> cards;
};

namespace {

using headrace::Error;

thread_local std::string last_error;

int fail(int code, const std::string& reason) {
  last_error = reason;
  return code;
}

// Runs an action; gives its result or the code of the error that it threw.
template <class Action>
int caught(Action&& action) {
  try {
    return action();
  } catch (const Error& error) {
    return fail(error.code(), error.what());
  } catch (const std::exception& error) {
    return fail(HR_ERROR_INTERNAL, std::string("the harness failed: ") + error.what());
  }
}

// An action on a card, which no other thread may be inside of. It is possible with a broken card too.
template <class Action>
int looking(hr_card* card, Action&& action) {
  if (card->entered.exchange(true, std::memory_order_acquire)) {
    return fail(HR_ERROR_THREAD, "the card is used by another thread at the same time");
  }
  const int code = caught(action);
  if (code == HR_ERROR_MODEL || code == HR_ERROR_PROTOCOL || code == HR_ERROR_INTERNAL) {
    if (card->broken == HR_OK) card->reason = last_error;
    card->broken = code;
  }
  card->entered.store(false, std::memory_order_release);
  return code;
}

// The same for what needs a card that works.
template <class Action>
int guarded(hr_card* card, Action&& action) {
  return looking(card, [&]() -> int {
    if (card->broken != HR_OK) return fail(card->broken, card->reason);
    return action();
  });
}

// The same for several cards at once: an error of one is one of all.
template <class Action>
int inside_all(const std::vector<hr_card*>& cards, size_t first, Action&& action) {
  if (first == cards.size()) return action();
  return guarded(cards[first], [&] { return inside_all(cards, first + 1, action); });
}

// The same for what gives something else than a code.
template <class Value, class Action>
Value looked_up(hr_card* card, Action&& action) {
  Value value{};
  looking(card, [&] {
    value = action();
    return HR_OK;
  });
  return value;
}

}  // namespace

extern "C" {

hr_card* hr_create(const char* model, uint64_t clock_hz, const char* trace) {
  std::unique_ptr<hr_card> card;
  caught([&] {
    if (clock_hz == 0 || clock_hz > headrace::kNsPerSecond) {
      throw Error(HR_ERROR_USAGE, "the clock is between 1 Hz and 1 GHz: two cycles must not have the same time in ns");
    }
    card = std::make_unique<hr_card>(model, clock_hz, trace);
    return HR_OK;
  });
  return card.release();
}

void hr_destroy(hr_card* card) {
  if (card == nullptr) return;
  const std::unique_ptr<hr_card> owned(card);
  hr_close_sinks(card);
}

int hr_close_sinks(hr_card* card) {
  return looking(card, [&] {
    card->card.close_sinks();
    return HR_OK;
  });
}

const char* hr_error(void) {
  return last_error.c_str();
}

hr_info hr_get_info(const hr_card* card) {
  const headrace::ModelTable& sizes = card->card.sizes();
  return {sizes.ports,
          sizes.data_bits,
          sizes.memory_bits,
          sizes.address_bits,
          sizes.tx_user_bits - headrace::kTxMetaBits,
          sizes.traceable};
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

int hr_link_up(hr_card* card, uint32_t port) {
  return guarded(card, [&] { return card->card.link_up(port) ? 1 : 0; });
}

int hr_get_link_name(hr_card* card, uint32_t port, char name[16]) {
  return guarded(card, [&] {
    name[card->card.link_name(port).copy(name, 15)] = 0;
    return HR_OK;
  });
}

int hr_send(hr_card* card, uint32_t port, const uint8_t* data, uint32_t length, uint32_t wire_length, uint32_t flags) {
  return guarded(card, [&] {
    card->card.send(port, data, length, wire_length, (flags & HR_FRAME_CUT) != 0, (flags & HR_FRAME_BAD_FCS) != 0);
    return HR_OK;
  });
}

int hr_receive(hr_card* card, uint32_t port, int32_t select, hr_frame* frame) {
  return looking(card, [&] { return card->card.receive(port, select, *frame) ? 1 : 0; });
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
  return guarded(card, [&] { return card->card.run(*limits); });
}

int hr_read_register(hr_card* card, uint32_t address, uint32_t* value) {
  return guarded(card, [&] {
    *value = card->card.read_register(address);
    return HR_OK;
  });
}

int hr_write_registers(hr_card* card, const hr_register_write* writes, size_t count) {
  return guarded(card, [&] {
    card->card.write_registers({writes, count});
    return HR_OK;
  });
}

int hr_take_irqs(hr_card* card, hr_irq* irqs, size_t limit) {
  return looking(card, [&] { return static_cast<int>(card->card.take_irqs({irqs, limit})); });
}

int hr_load_slot(hr_card* card, uint32_t number, const char* library) {
  return guarded(card, [&] {
    card->card.load_slot(number, library);
    return HR_OK;
  });
}

int hr_unload_slot(hr_card* card, uint32_t number) {
  return guarded(card, [&] {
    card->card.unload_slot(number);
    return HR_OK;
  });
}

int hr_attach_console(hr_card* card, const hr_console* console) {
  return guarded(card, [&] {
    card->card.attach_console(*console);
    return HR_OK;
  });
}

const char* hr_get_console_terminal(hr_card* card) {
  return looked_up<const char*>(card, [&] { return card->card.console().terminal().c_str(); });
}

uint64_t hr_get_console_lost(hr_card* card) {
  return looked_up<uint64_t>(card, [&] { return card->card.console().lost(); });
}

int hr_write_console(hr_card* card, uint32_t core, const uint8_t* bytes, size_t count) {
  return guarded(card, [&] {
    card->card.write_console(core, {bytes, count});
    return HR_OK;
  });
}

int hr_read_console(hr_card* card, uint32_t core, uint8_t* bytes, size_t limit) {
  return looking(card, [&] {
    return static_cast<int>(card->card.console().read(core, {bytes, std::min<size_t>(limit, INT_MAX)}));
  });
}

int hr_bind_interrupt(hr_card* card, uint16_t function, uint16_t vector, int descriptor) {
  return guarded(card, [&] {
    card->card.bound_interrupts().bind(function, vector, descriptor);
    return HR_OK;
  });
}

int hr_unbind_interrupt(hr_card* card, uint16_t function, uint16_t vector) {
  return looking(card, [&] {
    card->card.bound_interrupts().unbind(function, vector);
    return HR_OK;
  });
}

int hr_bind_doorbell(hr_card* card, int descriptor, hr_register_write write) {
  return guarded(card, [&] {
    card->card.doorbells().bind(descriptor, write);
    return HR_OK;
  });
}

int hr_unbind_doorbell(hr_card* card, int descriptor) {
  return looking(card, [&] {
    card->card.doorbells().unbind(descriptor);
    return HR_OK;
  });
}

int hr_attach_function(hr_card* card, const hr_function* function, hr_virtqueue* queues) {
  return guarded(card, [&] { return static_cast<int>(card->card.attach_function(*function, queues)); });
}

int hr_detach_function(hr_card* card, uint32_t port) {
  return looking(card, [&] {
    card->card.detach_function(port);
    return HR_OK;
  });
}

int hr_get_port_stats(hr_card* card, uint32_t port, hr_port_stats* stats) {
  return looking(card, [&] {
    *stats = card->card.port_stats(port);
    return HR_OK;
  });
}

int hr_get_next_event(hr_card* card, uint64_t* time_ns) {
  return looking(card, [&] {
    *time_ns = card->card.next_event_ns();
    return HR_OK;
  });
}

hr_coordinator* hr_create_coordinator(void) {
  return new (std::nothrow) hr_coordinator;
}

void hr_destroy_coordinator(hr_coordinator* coordinator) {
  delete coordinator;
}

int hr_add_card(hr_coordinator* coordinator, hr_card* card) {
  return guarded(card, [&] {
    coordinator->coordinator.add(card->card);
    coordinator->cards.push_back(card);
    return HR_OK;
  });
}

int hr_connect(hr_coordinator* coordinator, hr_card* card, uint32_t port, hr_card* to, uint32_t to_port,
               uint64_t delay_ns) {
  return guarded(card, [&] {
    coordinator->coordinator.connect(card->card, port, to->card, to_port, delay_ns);
    return HR_OK;
  });
}

int hr_run_cards(hr_coordinator* coordinator, uint64_t until_ns, uint32_t until_idle, uint32_t threads,
                 uint32_t slice_ms) {
  return inside_all(coordinator->cards, 0, [&] {
    return coordinator->coordinator.run(until_ns == 0 ? UINT64_MAX : until_ns, until_idle != 0, threads,
                                        std::chrono::milliseconds(slice_ms));
  });
}

int hr_memory_map(hr_card* card, uint16_t function, uint64_t address, uint64_t size, uint32_t read_only) {
  return guarded(card, [&] {
    card->card.memory().map(function, address, size, read_only != 0);
    return HR_OK;
  });
}

int hr_memory_map_file(hr_card* card, uint16_t function, uint64_t address, uint64_t size, uint32_t read_only,
                       int descriptor, uint64_t offset, uint32_t trusted) {
  return guarded(card, [&] {
    card->card.memory().map_file(function, address, size, read_only != 0, descriptor, offset, trusted != 0);
    return HR_OK;
  });
}

int hr_memory_unmap(hr_card* card, uint16_t function, uint64_t address) {
  return guarded(card, [&] {
    card->card.memory().unmap(function, address);
    return HR_OK;
  });
}

uint8_t* hr_memory_at(hr_card* card, uint16_t function, uint64_t address, uint64_t size, uint32_t write) {
  return looked_up<uint8_t*>(card, [&] { return card->card.memory().at(function, address, size, write != 0); });
}

void* hr_memory_keep(hr_card* card, uint16_t function, uint64_t address) {
  std::shared_ptr<uint8_t> pages = card->card.memory().pages(function, address);
  return pages == nullptr ? nullptr : new (std::nothrow) std::shared_ptr<uint8_t>(std::move(pages));
}

uint64_t hr_load_acquire(const uint8_t* at, uint32_t size) {
  return headrace::load_word(at, size, __ATOMIC_ACQUIRE);
}

void hr_store_release(uint8_t* at, uint64_t value, uint32_t size) {
  headrace::store_word(at, value, size, __ATOMIC_RELEASE);
}

void hr_memory_drop(void* kept) {
  delete static_cast<std::shared_ptr<uint8_t>*>(kept);
}

hr_writer* hr_open_writer(hr_card* card, const hr_sink* sink) {
  std::unique_ptr<hr_writer> writer;
  const int code = looking(card, [&] {
    writer = std::unique_ptr<hr_writer>(new hr_writer{card->card.make_writer(*sink)});
    return HR_OK;
  });
  return code == HR_OK ? writer.release() : nullptr;
}

int hr_write_records(hr_card* card, hr_writer* writer, uint64_t ring_address, uint64_t ring_size, uint32_t from,
                     uint32_t to, const hr_writer_limits* limits, hr_writer_result* result) {
  return looking(card, [&] {
    const uint8_t* ring = card->card.memory().at(0, ring_address, ring_size);
    if (ring == nullptr || !std::has_single_bit(ring_size) || to - from > ring_size) {
      throw Error(HR_ERROR_USAGE, "a capture ring has 2^n bytes within one range of host memory");
    }
    *result = writer->writer.write({ring, ring_size}, from, to, *limits);
    return HR_OK;
  });
}

int hr_write_packets(hr_card* card, hr_writer* writer, const hr_packet* packets, size_t count) {
  return looking(card, [&] {
    writer->writer.write(card->card.memory(), {packets, count});
    return HR_OK;
  });
}

int hr_close_writer(hr_card* card, hr_writer* writer, uint64_t received, uint64_t dropped) {
  return looking(card, [&] {
    writer->writer.close(received, dropped);
    return HR_OK;
  });
}

hr_totals hr_get_writer_totals(const hr_writer* writer) {
  return writer->writer.totals();
}

void hr_destroy_writer(hr_writer* writer) {
  const std::unique_ptr<hr_writer> owned(writer);
}

int hr_open_packets(hr_card* card, const char* link, uint64_t address, uint64_t size, uint32_t keep_times) {
  return guarded(card, [&] { return card->card.packets().open(link, address, size, keep_times != 0); });
}

int hr_take_packets(hr_card* card, int handle, hr_packet* packets, size_t limit) {
  return guarded(card, [&] {
    return static_cast<int>(card->card.packets().at(handle).take({packets, std::min<size_t>(limit, INT_MAX)}));
  });
}

int hr_release_packets(hr_card* card, int handle, size_t count) {
  return looking(card, [&] {
    card->card.packets().at(handle).release(count);
    return HR_OK;
  });
}

int hr_get_packets_state(hr_card* card, int handle, hr_packets_state* state) {
  return looking(card, [&] {
    *state = card->card.packets().at(handle).state();
    return HR_OK;
  });
}

int hr_close_packets(hr_card* card, int handle) {
  return looking(card, [&] {
    card->card.packets().close(handle);
    return HR_OK;
  });
}

hr_capture_format hr_get_capture_format(hr_card* card) {
  return looked_up<hr_capture_format>(card, [&]() -> hr_capture_format {
    const headrace::CaptureFormat format = card->card.capture_format();
    return {static_cast<uint32_t>(format.link_type), static_cast<uint32_t>(format.snapshot), format.swapped};
  });
}

int hr_get_stats(hr_card* card, hr_stats* stats, hr_port_stats* ports) {
  return looking(card, [&] {
    *stats = card->card.stats();
    for (uint32_t port = 0; port < card->card.sizes().ports; ++port) ports[port] = card->card.port_stats(port);
    return HR_OK;
  });
}

hr_totals hr_get_sink_totals(hr_card* card, uint32_t port, int32_t select) {
  return looked_up<hr_totals>(card, [&] { return card->card.sink_totals(port, select); });
}

int hr_get_passthrough_stats(hr_card* card, uint32_t n, hr_passthrough_stats* stats) {
  return looking(card, [&] { return card->card.passthrough_stats(n, *stats) ? 1 : 0; });
}

}  // extern "C"
