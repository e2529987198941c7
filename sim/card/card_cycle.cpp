// SPDX-License-Identifier: Apache-2.0
// What happens in one cycle of a card.
#include <algorithm>
#include <bit>

#include "card/card.h"
#include "wire/bits.h"

namespace headrace {
namespace {

constexpr size_t kCableBytes = 16384;

// A field of the card's own bits beside a frame.
uint64_t user_bits(const TxFrame& frame, int at, unsigned width) {
  return get_bits(reinterpret_cast<const uint8_t*>(frame.user.data()), static_cast<size_t>(at), width);
}

}  // namespace

// Evaluates the model with the clock low, so that its outputs answer to the inputs, or at its rising edge: then the
// inputs are those of before (headrace/build/evaluation.py).
void Card::evaluate(bool edge) {
  *pins_.clk = edge;
  *pins_.time_ns = clock_.ns();
  if (traced_) {
    trace_half_cycles_ += 1;
    model_.evaluate_traced(
        static_cast<uint64_t>(static_cast<unsigned __int128>(trace_half_cycles_) * 500'000'000'000 / clock_.hz()));
  } else {
    model_.evaluate();
  }
}

// One cycle: inputs are driven, the model answers with the clock low, handshakes are looked at, then comes the edge.
void Card::step() {
  const Cycle now = clock_.cycle();
  uint64_t valid = 0;
  uint64_t ready = 0;
  for (unsigned p = 0; p < port_count_; ++p) {
    valid |= uint64_t{rx_[p].drive(now)} << p;
    ready |= uint64_t{tx_[p].ready(now) && !cable_full(ports_[p])} << p;
  }
  rx_tvalid_.set(valid);
  tx_tready_.set(ready);
  axi_lite_.drive();
  axi_memory_.drive(now);
  if (console_.there()) console_.drive();
  evaluate(false);

  bool active = axi_memory_.sample(now);
  const bool console = console_.there() && step_console();
  active |= console;
  const bool registers = axi_lite_.busy();
  axi_lite_.sample();
  const bool interrupt = *pins_.irq_valid;
  if (interrupt && *pins_.irq_ready) {
    const hr_irq irq{clock_.ns(), *pins_.irq_function, *pins_.irq_vector};
    if (!bound_interrupts_.raise(irq.function, irq.vector) && !call_function(irq)) irqs_.push_back(irq);
    ++interrupts_;
    active = true;
  }
  if (valid != 0) {
    const uint64_t taken = rx_tready_.get();
    for (unsigned p = 0; p < port_count_; ++p) {
      if ((valid >> p) & 1) step_rx(p, (taken >> p) & 1, now);
    }
    active |= (valid & taken) != 0;
  }
  const uint64_t sending = tx_tvalid_.get();
  if ((sending | tx_waiting_) != 0) {
    if (const uint64_t withdrawn = tx_waiting_ & ~sending) {
      throw Error(HR_ERROR_PROTOCOL, "port " + std::to_string(std::countr_zero(withdrawn)) +
                                         ": tx_tvalid went before tx_tready took the beat");
    }
    tx_waiting_ = sending & ~ready;
    for (unsigned p = 0; p < port_count_; ++p) {
      if ((sending & ready) >> p & 1) step_tx(p, now);
    }
    active |= (sending & ready) != 0;
  }
  if (active) active_ = now;
  const bool quiet = *pins_.idle && !registers && !interrupt && !console && (valid | sending) == 0 &&
                     !axi_memory_.busy() && !*pins_.m_axi_arvalid && !*pins_.m_axi_awvalid && !*pins_.m_axi_wvalid;
  quiet_ = quiet ? quiet_ + 1 : 0;

  evaluate(true);
  clock_.tick();
}

// Tells the driver of a function of an interrupt; false: nobody plays it.
bool Card::call_function(const hr_irq& irq) {
  const auto found = std::find_if(functions_.begin(), functions_.end(), [&](const auto& function) {
    return function != nullptr && function->owns(irq.function, irq.vector);
  });
  if (found == functions_.end()) return false;
  (*found)->call();
  functions_due_ = 0;
  return true;
}

bool Card::step_console() {
  try {
    return console_.sample();
  } catch (const Error& error) {
    if (!sink_error_) sink_error_ = error;
    return true;
  }
}

void Card::step_rx(unsigned number, bool ready, Cycle now) {
  Port& from = ports_[number];
  MacRx& mac = rx_[number];
  const MacRx::Taken taken = mac.sample(ready, now);
  if (taken.first) {
    if (mac.frame().has_time) from.arrivals.note(clock_.ns(), mac.frame().time);
    for (Passthrough* check : from.checks_in) check->first_in(now);
  }
  if (taken.last) {
    ++received_;
    for (Passthrough* check : from.checks_in) check->came_in(mac.frame(), mac.given());
    mac.finish();
  }
}

void Card::step_tx(unsigned number, Cycle now) {
  MacTx& mac = tx_[number];
  if (!mac.take(now)) return;
  Port& to = ports_[number];
  for (Passthrough* check : to.checks_out) check->went_out(mac.frame(), mac.first_beat());
  deliver(to, mac.frame(), now);
}

void Card::deliver(Port& port, const TxFrame& frame, Cycle now) {
  for (AttachedSink& to : port.sinks) {
    if (to.select >= 0 && !user_bits(frame, to.select, 1)) continue;
    if (frame.error && to.memory == nullptr) continue;  // a host's MAC drops it too
    if (to.left == 0) continue;
    sink_full_ |= --to.left == 0;
    try {
      record(to, frame);
    } catch (const Error& error) {
      if (!sink_error_) sink_error_ = error;
    }
  }
  if (port.cable) port.cable->send(frame, clock_.ns());
  if (port.cable_to) {
    Port& far = ports_[*port.cable_to];
    far.queue->push(frame.data, frame.length, frame.wire_length, frame.cut, frame.error);
    rx_[*port.cable_to].wake(now + 1);
  }
}

// What a function has received comes with the time at which its driver has it.
void Card::deliver_received(Port& port, std::span<const uint8_t> bytes) {
  constexpr uint8_t kUnknownPort = 0xFF;
  TxFrame frame;
  frame.data = bytes.data();
  frame.length = static_cast<uint32_t>(bytes.size());
  frame.port = kUnknownPort;
  frame.timestamp_ns = clock_.ns();
  ++port.stats.tx_frames;
  port.stats.tx_bytes += bytes.size();
  deliver(port, frame, clock_.cycle());
}

void Card::record(AttachedSink& to, const TxFrame& frame) {
  if (!to.begun) begin_sinks();  // the card takes cycles before a run, too: for accesses to its registers
  uint32_t length = frame.length;
  if (to.length_at >= 0) length = std::min(length, static_cast<uint32_t>(user_bits(frame, to.length_at, 32)));
  if (to.snap_length != 0) length = std::min(length, to.snap_length);
  const Record record{&frame, length, record_time(to, frame)};
  add(to.taken, record.totals());
  to.sink->take(record);
}

RecordTime Card::record_time(AttachedSink& to, const TxFrame& frame) {
  if (to.recorded_times && frame.port < port_count_) {
    if (const auto found = ports_[frame.port].arrivals.find(frame.timestamp_ns, to.hints[frame.port])) return *found;
  }
  return {static_cast<int64_t>(frame.timestamp_ns / kNsPerSecond),
          static_cast<uint32_t>(frame.timestamp_ns % kNsPerSecond), true};
}

// A cable passes a hold-off on: the sender waits while the receiver's link is held.
bool Card::cable_full(const Port& port) const {
  if (port.cable && port.cable->held()) return true;
  if (!port.cable_to) return false;
  return rx_[*port.cable_to].flow_control() && ports_[*port.cable_to].queue->waiting_bytes() > kCableBytes;
}

}  // namespace headrace
