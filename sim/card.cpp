#include "card.h"

#include <algorithm>

#include "record_file.h"
#include "wall_timer.h"

namespace headrace {
namespace {

constexpr Cycle kResetCycles = 16;
constexpr uint64_t kDefaultRate = 100'000'000'000;
constexpr uint64_t kDefaultHangLimitNs = 5'000'000;
constexpr Cycle kRegisterTimeout = 10'000;

template <class Signal>
uint8_t* bytes_of(Signal& signal) {
  return reinterpret_cast<uint8_t*>(&signal);
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
  if (rx_[request.port].offering() || (to.queue != nullptr && to.queue->waiting_bytes() != 0)) {
    throw Error(HR_ERROR_USAGE, "port " + std::to_string(request.port) + " still has frames to receive");
  }
  MadeSource made = links_.source(request.link);
  if (made.cable_from) port(*made.cable_from);
  const bool own_rate = request.timing == HR_TIMING_LINE && made.bits_per_s;
  const bool own_times = request.timing == HR_TIMING_LINE && made.source != nullptr && made.source->live();
  const uint32_t timing = own_rate ? HR_TIMING_RATE : own_times ? HR_TIMING_RECORDED : request.timing;
  const uint64_t bits_per_s = own_rate ? *made.bits_per_s : request.bits_per_s;
  if (timing == HR_TIMING_RATE && bits_per_s == 0) {
    throw Error(HR_ERROR_USAGE, "a source's rate is at least 1 bit per second");
  }
  for (Port& other : ports_) {
    if (other.cable_to == request.port) other.cable_to.reset();
  }
  if (made.cable_from) ports_[*made.cable_from].cable_to = request.port;
  remove_source(request.port);
  to.source = std::move(made.source);
  to.queue = made.queue;
  to.timing = timing;
  to.bits_per_s = bits_per_s;
  to.packets = request.packets == 0 ? UINT64_MAX : request.packets;
  to.attached = to.source == nullptr;
}

void Card::remove_source(uint32_t number) {
  Port& from = ports_[number];
  rx_[number].detach();
  if (from.source) from.stats.rx_missed += from.source->missed();
  from.source.reset();
  from.queue = nullptr;
}

void Card::stop_sources() {
  for (Port& port : ports_) {
    if (port.source) port.source->stop();
  }
  packets_.stop();
}

void Card::attach_sink(const hr_sink& request) {
  Port& from = port(request.port);
  if (request.program >= static_cast<int>(kPrograms)) {
    throw Error(HR_ERROR_USAGE,
                "no program " + std::to_string(request.program) + ": a card has at most " + std::to_string(kPrograms));
  }
  MadeSink made = links_.sink(request);
  AttachedSink attached;
  attached.sink = std::move(made.sink);
  attached.memory = made.memory;
  attached.program = request.program;
  attached.snap_length = request.snap_length;
  if (request.packets != 0) attached.left = request.packets;
  attached.recorded_times = request.timestamps == HR_TIMESTAMPS_RECORDED;
  from.sinks.push_back(std::move(attached));
}

void Card::end_source(uint32_t number) {
  port(number);
  rx_[number].end();
}

RecordWriter Card::make_writer(const hr_sink& request) {
  const Arrivals& arrivals = port(request.port).arrivals;
  return RecordWriter(links_.sink(request).sink, capture_format(),
                      request.timestamps == HR_TIMESTAMPS_RECORDED ? &arrivals : nullptr);
}

void Card::send(uint32_t number, const uint8_t* data, uint32_t length, uint32_t wire_length, bool bad_fcs) {
  Port& to = port(number);
  if (to.source == nullptr) attach_source({number, "queue", HR_TIMING_LINE, 0, 0});
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

hr_port_stats Card::port_stats(uint32_t number) const {
  hr_port_stats stats = port(number).stats;
  if (port(number).source) stats.rx_missed += port(number).source->missed();
  return stats;
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
  for (unsigned p = 0; p < kPorts; ++p) all[p] = port_stats(p);
  for (Port& port : ports_) {
    for (AttachedSink& attached : port.sinks) attempt([&] { attached.sink->end(all, clock_.ns()); });
    port.sinks.clear();
  }
  if (first) throw *first;
}

}  // namespace headrace
