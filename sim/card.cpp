#include "card.h"

#include <poll.h>

#include <algorithm>

#include "generator.h"
#include "null_sink.h"
#include "pcap_sink.h"
#include "pcap_source.h"
#include "pcapng_sink.h"
#include "record_file.h"

namespace headrace {
namespace {

using Steady = std::chrono::steady_clock;

constexpr Cycle kResetCycles = 16;
// An idle output may come from a register or two: so many cycles of silence are needed before time is skipped.
constexpr unsigned kSettled = 4;
constexpr uint64_t kDefaultRate = 100'000'000'000;
constexpr uint64_t kDefaultHangLimitNs = 5'000'000;
constexpr int kDefaultSnapshot = 262144;  // tcpdump's
constexpr size_t kCableBytes = 16384;
constexpr Cycle kRegisterTimeout = 10'000;
constexpr unsigned kCheckInterval = 1024;  // cycles between looks at the wall clock

class WallTimer {
 public:
  explicit WallTimer(std::chrono::nanoseconds& total) : total_(total) {}
  ~WallTimer() { total_ += Steady::now() - start_; }
  Steady::time_point start() const { return start_; }

 private:
  std::chrono::nanoseconds& total_;
  Steady::time_point start_ = Steady::now();
};

// "kind:argument" as its two parts.
std::pair<std::string, std::string> split_link(const char* link) {
  const std::string text(link);
  const size_t colon = text.find(':');
  if (colon == std::string::npos) return {text, ""};
  return {text.substr(0, colon), text.substr(colon + 1)};
}

template <class Signal>
uint8_t* bytes_of(Signal& signal) {
  return reinterpret_cast<uint8_t*>(&signal);
}

template <class Signal>
void assign(Signal& signal, uint64_t bits) {
  signal = static_cast<Signal>(bits);
}

}  // namespace

Card::Card(uint64_t clock_hz, const char* trace)
    : clock_(clock_hz, 0),
      model_(std::make_unique<Vcard>(&context_)),
      axi_memory_(*model_, memory_, clock_, memory_stats_),
      axi_lite_(*model_),
      hang_limit_(clock_.cycles_in(kDefaultHangLimitNs)) {
  const WireRate rate(kDefaultRate, clock_hz);
  const RxPins rx{bytes_of(model_->rx_tdata), bytes_of(model_->rx_tkeep), bytes_of(model_->rx_tlast),
                  bytes_of(model_->rx_tuser)};
  const TxPins tx{bytes_of(model_->tx_tdata), bytes_of(model_->tx_tkeep), bytes_of(model_->tx_tlast),
                  bytes_of(model_->tx_tuser)};
  rx_.reserve(kPorts);
  tx_.reserve(kPorts);
  for (unsigned p = 0; p < kPorts; ++p) {
    rx_.emplace_back(p, rx, rate, ports_[p].stats);
    tx_.emplace_back(p, tx, rate, ports_[p].stats);
  }
#if VM_TRACE
  if (trace != nullptr) {
    context_.traceEverOn(true);
    context_.timeunit(-12);
    context_.timeprecision(-12);
    trace_ = std::make_unique<VerilatedFstC>();
    model_->trace(trace_.get(), 99);
    RecordFile(trace).close();  // Verilator doesn't say when it can't write
    trace_->open(trace);
  }
#else
  if (trace != nullptr) throw Error(HR_ERROR_USAGE, "this model was built without tracing");
#endif
  reset();
}

Card::~Card() {
#if VM_TRACE
  if (trace_) trace_->close();
#endif
}

Card::Port& Card::port(uint32_t number) {
  if (number >= kPorts) {
    throw Error(HR_ERROR_USAGE, "no port " + std::to_string(number) + ": the card has " + std::to_string(kPorts));
  }
  return ports_[number];
}

const Card::Port& Card::port(uint32_t number) const {
  return const_cast<Card*>(this)->port(number);
}

void Card::set_option(uint32_t option, uint64_t value) {
  switch (option) {
    case HR_OPTION_SKIP_IDLE:
      skip_idle_ = value != 0;
      break;
    case HR_OPTION_HANG_LIMIT_US:
      hang_limit_ = value == 0 ? kNever : clock_.cycles_in(value * 1000);
      break;
    case HR_OPTION_TIME_NS:
      clock_.set_ns(value);
      time_set_ = true;
      break;
    case HR_OPTION_IRQ_READY:
      model_->irq_ready = value != 0;
      break;
    default:
      axi_memory_.set_option(option, value);
  }
}

void Card::set_rate(uint32_t number, uint64_t bits_per_s) {
  port(number);
  if (bits_per_s == 0) throw Error(HR_ERROR_USAGE, "a port's rate is at least 1 bit per second");
  rx_[number].set_rate(WireRate(bits_per_s, clock_.hz()));
  tx_[number].set_rate(WireRate(bits_per_s, clock_.hz()));
}

void Card::set_flow_control(uint32_t number, bool on) {
  port(number);
  rx_[number].set_flow_control(on);
}

void Card::attach_source(const hr_source& request) {
  Port& to = port(request.port);
  const auto [kind, argument] = split_link(request.link);
  if (rx_[request.port].offering() || (to.queue != nullptr && to.queue->waiting_bytes() != 0)) {
    throw Error(HR_ERROR_USAGE, "port " + std::to_string(request.port) + " still has frames to receive");
  }
  uint32_t timing = request.timing;
  uint64_t bits_per_s = request.bits_per_s;
  std::unique_ptr<Source> source;
  QueueSource* queue = nullptr;
  std::optional<uint32_t> cable_from;
  if (kind == "pcap") {
    source = std::make_unique<PcapSource>(argument);
  } else if (kind == "gen") {
    auto generator = std::make_unique<Generator>(argument);
    if (timing == HR_TIMING_LINE && generator->rate()) {
      timing = HR_TIMING_RATE;
      bits_per_s = *generator->rate();
    }
    source = std::move(generator);
  } else if (kind == "queue" || kind == "port") {
    if (kind == "port") {
      if (argument.empty() || argument.find_first_not_of("0123456789") != std::string::npos || argument.size() > 3) {
        throw Error(HR_ERROR_USAGE, "port:" + argument + " is not a port");
      }
      cable_from = static_cast<uint32_t>(std::stoul(argument));
      port(*cable_from);
    }
    auto made = std::make_unique<QueueSource>();
    queue = made.get();
    source = std::move(made);
  } else if (kind != "null") {
    throw Error(HR_ERROR_USAGE,
                "'" + std::string(request.link) + "' is not a source: use pcap:FILE, gen:SPEC, port:N or null");
  }
  if (timing == HR_TIMING_RATE && bits_per_s == 0) {
    throw Error(HR_ERROR_USAGE, "a source's rate is at least 1 bit per second");
  }
  for (Port& other : ports_) {
    if (other.cable_to == request.port) other.cable_to.reset();
  }
  if (cable_from) ports_[*cable_from].cable_to = request.port;
  rx_[request.port].detach();
  to.source = std::move(source);
  to.queue = queue;
  to.timing = timing;
  to.bits_per_s = bits_per_s;
  to.attached = to.source == nullptr;
}

void Card::attach_sink(const hr_sink& request) {
  Port& from = port(request.port);
  const auto [kind, argument] = split_link(request.link);
  if (request.program >= static_cast<int>(kPrograms)) {
    throw Error(HR_ERROR_USAGE,
                "no program " + std::to_string(request.program) + ": a card has at most " + std::to_string(kPrograms));
  }
  AttachedSink made;
  if (kind == "pcap" && request.format == HR_FORMAT_PCAPNG) {
    made.sink = std::make_unique<PcapngSink>(argument, request.snapshot);
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
  made.program = request.program;
  made.snap_length = request.snap_length;
  made.recorded_times = request.timestamps == HR_TIMESTAMPS_RECORDED;
  from.sinks.push_back(std::move(made));
}

void Card::send(uint32_t number, const uint8_t* data, uint32_t length, uint32_t wire_length, bool bad_fcs) {
  Port& to = port(number);
  if (to.source == nullptr) attach_source({number, "queue", HR_TIMING_LINE, 0});
  if (to.queue == nullptr) throw Error(HR_ERROR_USAGE, "port " + std::to_string(number) + " has another source");
  to.queue->push(data, length, wire_length, bad_fcs);
}

bool Card::receive(uint32_t number, int32_t program, hr_frame& frame) {
  for (AttachedSink& attached : port(number).sinks) {
    if (attached.memory != nullptr && attached.program == program) return attached.memory->receive(frame);
  }
  const std::string of = program < 0 ? "" : " of program " + std::to_string(program);
  throw Error(HR_ERROR_USAGE, "port " + std::to_string(number) + " has no memory sink" + of);
}

void Card::expect_passthrough(uint32_t source, uint32_t destination) {
  port(source);
  port(destination);
  Passthrough& check = checks_.emplace_back(source, destination);
  ports_[source].checks_in.push_back(&check);
  ports_[destination].checks_out.push_back(&check);
}

void Card::reset() {
  model_->irq_ready = 1;
  model_->rst = 1;
  for (Cycle c = 0; c < kResetCycles; ++c) {
    evaluate(false);
    evaluate(true);
  }
  model_->rst = 0;
}

// Evaluates the model with the clock low, so that its outputs answer to the inputs, or at its rising edge.
void Card::evaluate(bool edge) {
  model_->clk = edge;
  model_->time_ns = clock_.ns();
#if VM_TRACE
  if (trace_) {
    trace_half_cycles_ += 1;
    context_.time(
        static_cast<uint64_t>(static_cast<unsigned __int128>(trace_half_cycles_) * 500'000'000'000 / clock_.hz()));
    model_->eval();
    trace_->dump(context_.time());
    return;
  }
#endif
  model_->eval();
}

// One cycle: inputs are driven, the model answers with the clock low, handshakes are looked at, then comes the edge.
void Card::step() {
  const Cycle now = clock_.cycle();
  Vcard& model = *model_;
  uint64_t valid = 0;
  uint64_t ready = 0;
  for (unsigned p = 0; p < kPorts; ++p) {
    valid |= uint64_t{rx_[p].drive(now)} << p;
    ready |= uint64_t{tx_[p].ready(now) && !cable_full(ports_[p])} << p;
  }
  assign(model.rx_tvalid, valid);
  assign(model.tx_tready, ready);
  axi_lite_.drive();
  axi_memory_.drive(now);
  evaluate(false);

  bool active = axi_memory_.sample(now);
  const bool registers = axi_lite_.busy();
  axi_lite_.sample();
  const bool interrupt = model.irq_valid;
  if (interrupt && model.irq_ready) {
    irqs_.push_back({clock_.ns(), model.irq_function, model.irq_vector});
    ++interrupts_;
    active = true;
  }
  if (valid != 0) {
    const uint64_t taken = model.rx_tready;
    for (unsigned p = 0; p < kPorts; ++p) {
      if ((valid >> p) & 1) step_rx(p, (taken >> p) & 1, now);
    }
    active |= (valid & taken) != 0;
  }
  const uint64_t sending = model.tx_tvalid;
  if ((sending | tx_waiting_) != 0) {
    if (const uint64_t withdrawn = tx_waiting_ & ~sending) {
      throw Error(HR_ERROR_PROTOCOL, "port " + std::to_string(std::countr_zero(withdrawn)) +
                                         ": tx_tvalid went before tx_tready took the beat");
    }
    tx_waiting_ = sending & ~ready;
    for (unsigned p = 0; p < kPorts; ++p) {
      if ((sending & ready) >> p & 1) step_tx(p, now);
    }
    active |= (sending & ready) != 0;
  }
  if (active) active_ = now;
  const bool quiet = model.idle && !registers && !interrupt && (valid | sending) == 0 && !axi_memory_.busy() &&
                     !model.m_axi_arvalid && !model.m_axi_awvalid && !model.m_axi_wvalid;
  quiet_ = quiet ? quiet_ + 1 : 0;

  evaluate(true);
  clock_.tick();
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
    if (to.program >= 0 && !((frame.matched >> to.program) & 1)) continue;
    if (frame.error && to.memory == nullptr) continue;  // a host's MAC drops it too
    try {
      record(to, frame);
    } catch (const Error& error) {
      if (!sink_error_) sink_error_ = error;
    }
  }
  if (port.cable_to) {
    Port& far = ports_[*port.cable_to];
    far.queue->push(frame.data, frame.length, frame.wire_length, frame.error);
    rx_[*port.cable_to].wake(now + 1);
  }
}

void Card::record(AttachedSink& to, const TxFrame& frame) {
  uint32_t length = frame.length;
  if (to.program >= 0) length = std::min<uint32_t>(length, frame.snap_length[static_cast<size_t>(to.program)]);
  if (to.snap_length != 0) length = std::min(length, to.snap_length);
  to.sink->take({&frame, length, record_time(to, frame)});
}

RecordTime Card::record_time(AttachedSink& to, const TxFrame& frame) {
  if (to.recorded_times && frame.port < kPorts) {
    if (const auto found = ports_[frame.port].arrivals.find(frame.timestamp_ns, to.hints[frame.port])) return *found;
  }
  return {static_cast<int64_t>(frame.timestamp_ns / kNsPerSecond),
          static_cast<uint32_t>(frame.timestamp_ns % kNsPerSecond), true};
}

// A cable passes a hold-off on: the sender waits while the receiver's link is held.
bool Card::cable_full(const Port& port) const {
  if (!port.cable_to) return false;
  return rx_[*port.cable_to].flow_control() && ports_[*port.cable_to].queue->waiting_bytes() > kCableBytes;
}

int Card::run(const hr_run_limits& limits) {
  attach_sources();
  begin_sinks();
  for (MacRx& mac : rx_) mac.wake(clock_.cycle());
  int reason;
  try {
    reason = run_loop(limits);
  } catch (...) {
    try {
      flush_sinks();
    } catch (const Error&) {
      // The first error is the one to report.
    }
    throw;
  }
  flush_sinks();
  if (reason == HR_STOP_IDLE) report_fault();
  return reason;
}

int Card::run_loop(const hr_run_limits& limits) {
  const WallTimer timer(wall_);
  const Cycle end = limits.cycles == 0 ? kNever : clock_.cycle() + static_cast<Cycle>(limits.cycles);
  const uint64_t packets_end = limits.packets == 0 ? UINT64_MAX : received_ + limits.packets;
  const auto slice = std::chrono::milliseconds(limits.slice_ms);
  active_ = clock_.cycle();
  for (unsigned n = 1;; ++n) {
    if (clock_.cycle() >= end) return HR_STOP_CYCLES;
    if (received_ >= packets_end) return HR_STOP_PACKETS;
    if (n % kCheckInterval == 0) {
      if (limits.slice_ms != 0 && Steady::now() - timer.start() >= slice) return HR_STOP_SLICE;
      if (limits.until_idle) check_progress();
      wait_for_sources(0);
    }
    if (quiet_ >= kSettled) {
      const Cycle due = next_due();
      if (due == kNever && limits.until_idle && waiting_sources()) {
        flush_sinks();  // whoever reads our output may be who feeds our input
        if (!wait_for_sources(limits.slice_ms == 0 ? -1 : static_cast<int>(limits.slice_ms))) return HR_STOP_SLICE;
      } else if (due == kNever && limits.until_idle) {
        const Cycle drained = std::min(drained_at(), end);
        if (clock_.cycle() >= drained) return HR_STOP_IDLE;
        if (skip_idle_) {
          skip_to(drained);
          continue;
        }
      } else if (skip_idle_) {
        if (std::min(due, end) == kNever) {
          throw Error(HR_ERROR_USAGE, "nothing to run for: the card is idle and neither cycles nor time are limited");
        }
        if (std::min(due, end) > clock_.cycle()) {
          skip_to(std::min(due, end));
          continue;
        }
      }
    }
    step();
    if (sink_error_) raise_sink_error();
  }
}

bool Card::waiting_sources() const {
  for (unsigned p = 0; p < kPorts; ++p) {
    if (!rx_[p].offering() && ports_[p].source && ports_[p].source->waits_for() >= 0) return true;
  }
  return false;
}

// Wakes the ports whose sources can go on, after at most so many milliseconds (-1: however long). False: none could.
bool Card::wait_for_sources(int milliseconds) {
  std::array<pollfd, kPorts> waiting;
  std::array<unsigned, kPorts> numbers;
  nfds_t count = 0;
  for (unsigned p = 0; p < kPorts; ++p) {
    const int descriptor = rx_[p].offering() || !ports_[p].source ? -1 : ports_[p].source->waits_for();
    if (descriptor < 0) continue;
    numbers[count] = p;
    waiting[count++] = {descriptor, POLLIN, 0};
  }
  if (count == 0 || ::poll(waiting.data(), count, milliseconds) <= 0) return false;
  for (nfds_t n = 0; n < count; ++n) {
    if (waiting[n].revents != 0) rx_[numbers[n]].wake(clock_.cycle());
  }
  return true;
}

// A busy card that moves nothing hangs, unless all it lacks is a frame that is still on the wire.
void Card::check_progress() const {
  const Cycle now = clock_.cycle();
  if (now - active_ < hang_limit_ || quiet_ != 0) return;
  const Cycle due = next_due();
  if (due != kNever && due > now + 1) return;
  throw Error(HR_ERROR_HANG, "the card hangs: busy for " +
                                 std::to_string(clock_.ns_in(static_cast<uint64_t>(now - active_)) / 1000) +
                                 " us at cycle " + std::to_string(now) + " and nothing moves on its ports");
}

void Card::skip_to(Cycle cycle) {
  skipped_ += static_cast<uint64_t>(cycle - clock_.cycle());
  clock_.jump(cycle);
  active_ = cycle;
}

Cycle Card::next_due() const {
  Cycle due = kNever;
  for (const MacRx& mac : rx_) due = std::min(due, mac.due());
  return due;
}

Cycle Card::drained_at() const {
  Cycle drained = 0;
  for (const MacTx& mac : tx_) drained = std::max(drained, mac.drained_at());
  return drained;
}

// The first recorded capture sets the card's clock, so that its records arrive at their own times.
void Card::attach_sources() {
  std::optional<uint64_t> first;
  for (const Port& port : ports_) {
    if (port.attached || port.timing != HR_TIMING_RECORDED) continue;
    if (const auto time = port.source->first_time_ns()) first = std::min(first.value_or(*time), *time);
  }
  if (first && !time_set_) {
    clock_.set_ns(*first);
    time_set_ = true;
  }
  for (unsigned p = 0; p < kPorts; ++p) {
    Port& port = ports_[p];
    if (port.attached) continue;
    port.attached = true;
    Pacing pacing = Pacing::line();
    if (port.timing == HR_TIMING_RATE) pacing = Pacing::rate(port.bits_per_s, clock_);
    if (port.timing == HR_TIMING_RECORDED) {
      pacing = Pacing::recorded(port.source->first_time_ns().value_or(clock_.ns()), clock_);
    }
    rx_[p].attach(port.source.get(), pacing);
  }
}

void Card::begin_sinks() {
  CaptureFormat format{kDefaultSnapshot, 0};
  for (const Port& port : ports_) {
    const auto found = port.source ? port.source->format() : std::nullopt;
    if (found) {
      format = *found;
      break;
    }
  }
  for (Port& port : ports_) {
    for (AttachedSink& attached : port.sinks) {
      if (!attached.begun) attached.sink->begin(format);
      attached.begun = true;
    }
  }
}

void Card::flush_sinks() {
  for (Port& port : ports_) {
    for (AttachedSink& attached : port.sinks) attached.sink->flush();
  }
}

void Card::raise_sink_error() {
  const Error error = *sink_error_;
  sink_error_.reset();
  throw error;
}

// A capture that broke off: everything before the fault has been handled.
void Card::report_fault() {
  for (unsigned p = 0; p < kPorts; ++p) {
    if (!ports_[p].source || ports_[p].source->fault().empty()) continue;
    const std::string fault = ports_[p].source->fault();
    rx_[p].detach();
    ports_[p].source.reset();
    throw Error(HR_ERROR_CAPTURE, fault);
  }
}

uint32_t Card::read_register(uint32_t address) {
  axi_lite_.begin_read(address);
  wait_for_registers("read of", address);
  return axi_lite_.value();
}

void Card::write_registers(std::span<const hr_register_write> writes) {
  if (writes.empty()) return;
  axi_lite_.begin(writes);
  wait_for_registers("write to", writes.front().address);
}

void Card::wait_for_registers(const char* access, uint32_t address) {
  const WallTimer timer(wall_);
  size_t done = axi_lite_.answered();
  Cycle last_answer = clock_.cycle();
  const auto fail = [&](const char* what) {
    char text[96];
    std::snprintf(text, sizeof text, "%s the %s register 0x%04x", what, access, address);
    throw Error(HR_ERROR_BUS, text);
  };
  while (axi_lite_.busy()) {
    step();
    if (axi_lite_.answered() != done) {
      done = axi_lite_.answered();
      last_answer = clock_.cycle();
    } else if (clock_.cycle() - last_answer > kRegisterTimeout) {
      axi_lite_.abandon();
      fail("the card does not answer");
    }
  }
  if (sink_error_) raise_sink_error();
  if (axi_lite_.refused()) {
    address = *axi_lite_.refused();
    fail("the card refuses");
  }
}

size_t Card::take_irqs(std::span<hr_irq> irqs) {
  const size_t count = std::min(irqs.size(), irqs_.size());
  std::copy_n(irqs_.begin(), count, irqs.begin());
  irqs_.erase(irqs_.begin(), irqs_.begin() + static_cast<std::ptrdiff_t>(count));
  return count;
}

hr_stats Card::stats() const {
  return {static_cast<uint64_t>(clock_.cycle()), skipped_,    clock_.ns(),  clock_.hz(),
          static_cast<uint64_t>(wall_.count()),  interrupts_, memory_stats_};
}

const hr_port_stats& Card::port_stats(uint32_t number) const {
  return port(number).stats;
}

bool Card::passthrough_stats(uint32_t n, hr_passthrough_stats& stats) const {
  if (n >= checks_.size()) return false;
  stats = checks_[n].stats();
  return true;
}

void Card::close_sinks() {
  std::optional<Error> first;
  const auto attempt = [&](auto&& action) {
    try {
      action();
    } catch (const Error& error) {
      if (!first) first = error;
    }
  };
  attempt([&] { begin_sinks(); });
  std::array<hr_port_stats, kPorts> all;
  for (unsigned p = 0; p < kPorts; ++p) all[p] = ports_[p].stats;
  for (Port& port : ports_) {
    for (AttachedSink& attached : port.sinks) attempt([&] { attached.sink->end(all, clock_.ns()); });
    port.sinks.clear();
  }
  if (first) throw *first;
}

}  // namespace headrace
