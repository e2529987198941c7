// SPDX-License-Identifier: Apache-2.0
#include "card/card.h"

#include <algorithm>
#include <cstdio>

#include "card/wall_timer.h"
#include "links/capture.h"
#include "links/record_file.h"

namespace headrace {
namespace {

constexpr Cycle kResetCycles = 16;
constexpr uint64_t kDefaultRate = 100'000'000'000;
constexpr uint64_t kDefaultHangLimitNs = 5'000'000;
constexpr Cycle kRegisterTimeout = 10'000;
constexpr const char* kOfDoorbell = "write of a doorbell to";

// Goes on after errors; the first one is thrown in the end.
class FirstError {
 public:
  template <class Action>
  void attempt(Action&& action) {
    try {
      action();
    } catch (const Error& error) {
      if (!error_) error_ = error;
    }
  }

  void raise() const {
    if (error_) throw *error_;
  }

 private:
  std::optional<Error> error_;
};

Error bus_error(const char* what, const char* access, uint32_t address) {
  char text[96];
  std::snprintf(text, sizeof text, "%s the %s register 0x%04x", what, access, address);
  return Error(HR_ERROR_BUS, text);
}

}  // namespace

Card::Card(const std::string& library, uint64_t clock_hz, const char* trace)
    : clock_(clock_hz, 0),
      model_(library),
      pins_(model_.pins()),
      port_count_(model_.sizes().ports),
      rx_tvalid_(pins_.rx_tvalid, port_count_),
      rx_tready_(pins_.rx_tready, port_count_),
      tx_tvalid_(pins_.tx_tvalid, port_count_),
      tx_tready_(pins_.tx_tready, port_count_),
      ports_(port_count_),
      axi_memory_(pins_, model_.sizes().memory_bits / 8, memory_, clock_, memory_stats_),
      axi_lite_(model_),
      hang_limit_(clock_.cycles_in(kDefaultHangLimitNs)) {
  const WireRate rate(kDefaultRate, clock_hz);
  const uint32_t beat_bytes = model_.sizes().data_bits / 8;
  rx_.reserve(port_count_);
  tx_.reserve(port_count_);
  for (unsigned p = 0; p < port_count_; ++p) {
    rx_.emplace_back(p, pins_, beat_bytes, rate, ports_[p].stats);
    tx_.emplace_back(p, pins_, beat_bytes, model_.sizes().tx_user_bits, rate, ports_[p].stats);
  }
  if (trace != nullptr) {
    if (!model_.sizes().traceable) throw Error(HR_ERROR_USAGE, "this model was built without tracing");
    RecordFile(trace).close();  // Verilator doesn't say when it can't write
    model_.open_trace(trace);
    traced_ = true;
  }
  reset();
}

Card::Port& Card::port(uint32_t number) {
  const bool function = number >= port_count_ && number < ports_.size();
  if (number >= ports_.size() || (function && function_port(number) == nullptr)) {
    throw Error(HR_ERROR_USAGE, "no port " + std::to_string(number) + ": the card has " + std::to_string(port_count_));
  }
  return ports_[number];
}

// Of a port that is a function's; nullptr: it is a MAC's.
FunctionPort* Card::function_port(uint32_t number) const {
  return number < port_count_ ? nullptr : functions_[number - port_count_].get();
}

// The MAC of a port that has one.
MacRx& Card::mac(uint32_t number) {
  port(number);
  if (number >= port_count_) {
    throw Error(HR_ERROR_USAGE, "port " + std::to_string(number) + " is a function's, which has no line");
  }
  return rx_[number];
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
      hang_limit_ = value == 0 ? kNever : clock_.cycles_in(std::min(value, UINT64_MAX / 1000) * 1000);
      break;
    case HR_OPTION_TIME_NS:
      clock_.set_ns(value);
      time_set_ = true;
      break;
    case HR_OPTION_IRQ_READY:
      *pins_.irq_ready = value != 0;
      break;
    default:
      axi_memory_.set_option(option, value);
  }
}

void Card::set_rate(uint32_t number, uint64_t bits_per_s) {
  mac(number);
  if (bits_per_s == 0) throw Error(HR_ERROR_USAGE, "a port's rate is at least 1 bit per second");
  rx_[number].set_rate(WireRate(bits_per_s, clock_.hz()));
  tx_[number].set_rate(WireRate(bits_per_s, clock_.hz()));
}

void Card::set_flow_control(uint32_t number, bool on) {
  mac(number).set_flow_control(on);
}

bool Card::offloads(uint32_t number) const {
  const FunctionPort* function = function_port(number);
  return function != nullptr && function->offloads();
}

void Card::attach_source(const hr_source& request) {
  Port& to = port(request.port);
  check_free(request.port);
  MadeSource made = links_.source(request.link, offloads(request.port));
  if (made.cable_from) {
    mac(*made.cable_from);
    mac(request.port);
  }
  if (made.source != nullptr) check_link_type(request.port, *made.source);
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

// A file has one link type.
void Card::check_link_type(uint32_t number, const Source& source) const {
  const std::optional<CaptureFormat> own = source.format();
  for (uint32_t p = 0; own && p < ports_.size(); ++p) {
    const std::optional<CaptureFormat> other = p != number && ports_[p].source ? ports_[p].source->format() : own;
    if (other && other->link_type != own->link_type) {
      throw Error(HR_ERROR_FILE, "port " + std::to_string(number) + ": link type " + link_type_name(own->link_type) +
                                     ", but port " + std::to_string(p) + " receives " +
                                     link_type_name(other->link_type));
    }
  }
}

void Card::check_free(uint32_t number) {
  const Port& to = port(number);
  const FunctionPort* function = function_port(number);
  const bool offering = function != nullptr ? function->offering() : rx_[number].offering();
  if (offering || (to.queue != nullptr && to.queue->waiting_bytes() != 0)) {
    throw Error(HR_ERROR_USAGE, "port " + std::to_string(number) + " still has frames to receive");
  }
}

void Card::attach_cable(uint32_t number, std::shared_ptr<Cable> cable) {
  mac(number);
  ports_[number].cable = std::move(cable);
}

void Card::attach_cable_end(uint32_t number, std::unique_ptr<CableSource> source) {
  mac(number);
  check_free(number);
  remove_source(number);
  Port& to = ports_[number];
  to.source = std::move(source);
  to.timing = HR_TIMING_RECORDED;
  to.packets = UINT64_MAX;
  to.attached = false;
}

void Card::remove_source(uint32_t number) {
  Port& from = ports_[number];
  if (FunctionPort* function = function_port(number)) {
    function->detach();
  } else {
    rx_[number].detach();
  }
  if (from.source) from.stats.rx_missed += from.source->missed();
  from.source.reset();
  from.queue = nullptr;
}

void Card::stop_sources() {
  for (Port& port : ports_) {
    if (port.source) port.source->stop();
  }
  packets_.stop();
  console_.stop();
}

void Card::attach_console(const hr_console& request) {
  console_.attach(request);
}

void Card::write_console(uint32_t core, std::span<const uint8_t> bytes) {
  console_.write(core, bytes);
  quiet_ = 0;  // a core that sleeps may want it
}

void Card::load_slot(uint32_t number, const std::string& library) {
  slots_.load(model_, number, library);
  quiet_ = 0;
}

void Card::unload_slot(uint32_t number) {
  slots_.unload(model_, number);
  quiet_ = 0;
}

void Card::attach_sink(const hr_sink& request) {
  Port& from = port(request.port);
  const int64_t own_bits = function_port(request.port) == nullptr ? model_.sizes().tx_user_bits - kTxMetaBits : 0;
  if (request.select >= own_bits || (request.length_at >= 0 && request.length_at > own_bits - 32)) {
    throw Error(HR_ERROR_USAGE, "the card has " + std::to_string(own_bits) + " bits of its own beside a frame");
  }
  MadeSink made = links_.sink(request, offloads(request.port));
  AttachedSink attached;
  attached.hints.resize(port_count_);
  attached.sink = std::move(made.sink);
  attached.memory = made.memory;
  attached.select = request.select;
  attached.length_at = request.length_at;
  attached.snap_length = request.snap_length;
  if (request.packets != 0) attached.left = request.packets;
  attached.recorded_times = request.timestamps == HR_TIMESTAMPS_RECORDED;
  from.sinks.push_back(std::move(attached));
}

void Card::end_source(uint32_t number) {
  Port& to = port(number);
  if (FunctionPort* function = function_port(number)) {
    function->end();
  } else {
    rx_[number].end();
  }
  if (!to.attached) to.packets = 0;  // the source that comes with the next run
}

bool Card::link_up(uint32_t number) {
  const Port& of = port(number);
  return of.source && of.source->fault().empty() && of.source->link_up();
}

std::string Card::link_name(uint32_t number) {
  const Port& of = port(number);
  return of.source ? of.source->link_name() : "";
}

uint32_t Card::attach_function(const hr_function& request, hr_virtqueue* queues) {
  const auto place = std::find(functions_.begin(), functions_.end(), nullptr);
  const auto number = port_count_ + static_cast<uint32_t>(place - functions_.begin());
  Port fresh{};
  Port& to = place == functions_.end() ? ports_.emplace_back() : ports_[number] = std::move(fresh);
  auto function = std::make_unique<FunctionPort>(memory_, request, to.stats);
  for (const bool receive : {false, true}) {
    const VirtqueuePlaces places = function->places(receive);
    queues[receive] = {places.ring, places.driver, places.device};
  }
  if (place == functions_.end()) {
    functions_.push_back(std::move(function));
  } else {
    *place = std::move(function);
  }
  return number;
}

void Card::detach_function(uint32_t number) {
  Port& of = port(number);
  if (function_port(number) == nullptr) {
    throw Error(HR_ERROR_USAGE, "port " + std::to_string(number) + " is no function's");
  }
  remove_source(number);
  functions_[number - port_count_].reset();
  close_sinks_of(of);
}

RecordWriter Card::make_writer(const hr_sink& request) {
  const Arrivals& arrivals = port(request.port).arrivals;
  return RecordWriter(links_.sink(request).sink, capture_format(),
                      request.timestamps == HR_TIMESTAMPS_RECORDED ? &arrivals : nullptr,
                      request.timestamps == HR_TIMESTAMPS_KEPT ? &packets_.times() : nullptr);
}

void Card::send(uint32_t number, const uint8_t* data, uint32_t length, uint32_t wire_length, bool cut, bool bad_fcs) {
  Port& to = port(number);
  if (to.source == nullptr) attach_source({number, "queue", HR_TIMING_LINE, 0, 0});
  if (to.queue == nullptr) throw Error(HR_ERROR_USAGE, "port " + std::to_string(number) + " has another source");
  to.queue->push(data, length, wire_length, cut, bad_fcs);
}

bool Card::receive(uint32_t number, int32_t select, hr_frame& frame) {
  for (AttachedSink& attached : port(number).sinks) {
    if (attached.memory != nullptr && attached.select == select) return attached.memory->receive(frame);
  }
  const std::string of = select < 0 ? "" : " of frames with bit " + std::to_string(select);
  throw Error(HR_ERROR_USAGE, "port " + std::to_string(number) + " has no memory sink" + of);
}

void Card::expect_passthrough(uint32_t source, uint32_t destination) {
  mac(source);
  mac(destination);
  Passthrough& check = checks_.emplace_back(source, destination);
  ports_[source].checks_in.push_back(&check);
  ports_[destination].checks_out.push_back(&check);
}

void Card::reset() {
  *pins_.irq_ready = 1;
  *pins_.rst = 1;
  for (Cycle c = 0; c < kResetCycles; ++c) {
    evaluate(false);
    evaluate(true);
  }
  *pins_.rst = 0;
}

uint32_t Card::read_register(uint32_t address) {
  finish_doorbells();
  axi_lite_.begin_read(address);
  wait_for_registers("read of", address);
  return axi_lite_.value();
}

void Card::write_registers(std::span<const hr_register_write> writes) {
  if (writes.empty()) return;
  finish_doorbells();
  axi_lite_.begin(writes);
  wait_for_registers("write to", writes.front().address);
}

void Card::wait_for_registers(const char* access, uint32_t address) {
  const WallTimer timer(wall_);
  answers_ = axi_lite_.answered();
  answered_at_ = clock_.cycle();
  while (axi_lite_.busy()) {
    step();
    check_answers(access, address);
  }
  if (sink_error_) raise_sink_error();
  check_refusal(access);
}

void Card::check_answers(const char* access, uint32_t address) {
  if (axi_lite_.answered() != answers_) {
    answers_ = axi_lite_.answered();
    answered_at_ = clock_.cycle();
  } else if (axi_lite_.busy() && clock_.cycle() - answered_at_ > kRegisterTimeout) {
    axi_lite_.abandon();
    ringing_.clear();
    throw bus_error("the card does not answer", access, address);
  }
}

void Card::check_refusal(const char* access) {
  if (const auto address = axi_lite_.refused()) throw bus_error("the card refuses", access, *address);
}

// Writes of doorbells go on the bus in the order in which they were seen, beside all else that the card does.
void Card::serve_doorbells() {
  if (!ringing_.empty()) {
    check_answers(kOfDoorbell, ringing_.front().address);
    if (axi_lite_.busy()) return;
    ringing_.clear();
    check_refusal(kOfDoorbell);
  }
  if (rung_.empty()) return;
  ringing_.swap(rung_);
  axi_lite_.begin(ringing_);
  answers_ = 0;
  answered_at_ = clock_.cycle();
  quiet_ = 0;
}

// The bus is free for the host's own access.
void Card::finish_doorbells() {
  if (ringing_.empty()) return;
  const uint32_t address = ringing_.front().address;
  wait_for_registers(kOfDoorbell, address);
  ringing_.clear();
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
  if (const auto& source = port(number).source) {
    stats.rx_missed += source->missed();
    stats.rx_waiting = source->waiting();
  }
  return stats;
}

hr_totals Card::sink_totals(uint32_t number, int select) const {
  const Port& of = port(number);
  const auto found = of.written.find(select);
  hr_totals totals = found == of.written.end() ? hr_totals{} : found->second;
  for (const AttachedSink& attached : of.sinks) {
    if (attached.select == select) add(totals, without(attached.taken, attached.sink->lost()));
  }
  return totals;
}

bool Card::passthrough_stats(uint32_t n, hr_passthrough_stats& stats) const {
  if (n >= checks_.size()) return false;
  stats = checks_[n].stats();
  return true;
}

void Card::close_sinks() {
  FirstError first;
  first.attempt([&] { begin_sinks(); });
  first.attempt([&] { console_.close(); });
  for (Port& port : ports_) first.attempt([&] { close_sinks_of(port); });
  sink_full_ = false;
  first.raise();
}

void Card::close_sinks_of(Port& port) {
  FirstError first;
  first.attempt([&] { begin_sinks(); });
  std::vector<hr_port_stats> all(port_count_);
  for (unsigned p = 0; p < port_count_; ++p) all[p] = port_stats(p);
  for (AttachedSink& attached : port.sinks) {
    first.attempt([&] { attached.sink->end(all, clock_.ns()); });
    add(port.written[attached.select], without(attached.taken, attached.sink->lost()));
  }
  port.sinks.clear();
  first.raise();
}

}  // namespace headrace
