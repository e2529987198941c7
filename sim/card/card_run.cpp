// SPDX-License-Identifier: Apache-2.0
// Runs of a card: until when, what is skipped, and what is waited for.
#include <poll.h>

#include <algorithm>
#include <climits>
#include <utility>

#include "card/card.h"
#include "card/wall_timer.h"

namespace headrace {
namespace {

// An idle output may come from a register or two: so many cycles of silence are needed before time is skipped.
constexpr unsigned kSettled = 4;
// Others are looked at after so many cycles, and in slow models after so much wall time.
constexpr unsigned kCheckInterval = 1024;
constexpr unsigned kClockInterval = 32;  // cycles between looks at the wall clock, each of which takes 50 ns
constexpr std::chrono::milliseconds kCheckTime{1};
constexpr Cycle kLastCycle = Cycle{1} << 62;

}  // namespace

void Card::begin_run() {
  attach_sources();
  begin_sinks();
  for (unsigned p = 0; p < ports_.size(); ++p) wake(p);
  if (!sliced_) active_ = clock_.cycle();
  sliced_ = false;
}

void Card::end_run() {
  flush_sinks();
  report_fault();
}

void Card::advance(uint64_t until_ns, bool until_idle) {
  const Cycle end = clock_.cycle_at(until_ns);
  while (clock_.cycle() < end) {
    hr_run_limits limits{};
    limits.cycles = static_cast<uint64_t>(end - clock_.cycle());
    run_loop(limits);
  }
  if (until_idle) check_progress();
}

uint64_t Card::next_event_ns() const {
  if (quiet_ < kSettled) return clock_.ns();
  Cycle due = std::min(next_due(), next_timer());
  if (due == kNever && drained_at() > clock_.cycle()) due = drained_at();
  return due == kNever ? UINT64_MAX : clock_.ns_at(std::max(due, clock_.cycle()));
}

int Card::run(const hr_run_limits& limits) {
  begin_run();
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
  sliced_ = reason == HR_STOP_SLICE || reason == HR_STOP_ASKED;
  flush_sinks();
  if (reason == HR_STOP_IDLE) report_fault();
  return reason;
}

int Card::run_loop(const hr_run_limits& limits) {
  const WallTimer timer(wall_);
  if (limits.cycles > static_cast<uint64_t>(kLastCycle - clock_.cycle())) {
    throw Error(HR_ERROR_USAGE, "a run ends before cycle 2^62: " + std::to_string(limits.cycles) + " are too many");
  }
  Cycle end = limits.cycles == 0 ? kNever : clock_.cycle() + static_cast<Cycle>(limits.cycles);
  if (limits.until_ns != 0) end = std::min(end, clock_.cycle_at(limits.until_ns));
  const uint64_t packets_end =
      limits.packets == 0 || limits.packets > UINT64_MAX - received_ ? UINT64_MAX : received_ + limits.packets;
  const auto slice = std::chrono::milliseconds(limits.slice_ms);
  asking_ = {limits.asking, limits.asking_count};
  asked_ = false;
  std::chrono::nanoseconds next_check = kCheckTime;
  take_events();
  for (unsigned n = 1;; ++n) {
    if (std::exchange(sink_full_, false)) return HR_STOP_PACKETS;  // perhaps before the run, in accesses to registers
    if (clock_.cycle() >= end) return HR_STOP_CYCLES;
    if (received_ >= packets_end) return HR_STOP_PACKETS;
    if (limits.until_interrupt && !irqs_.empty()) return HR_STOP_INTERRUPT;
    if (n % kCheckInterval == 0 || (n % kClockInterval == 0 && timer.passed() >= next_check)) {
      next_check = timer.passed() + kCheckTime;
      if (limits.slice_ms != 0 && timer.passed() >= slice) return HR_STOP_SLICE;
      if (limits.until_idle) check_progress();
      wait_for_others(0);
      if (asked_) return HR_STOP_ASKED;
    }
    if (clock_.cycle() >= functions_due_) serve_functions();
    if (!rung_.empty() || !ringing_.empty()) serve_doorbells();
    if (quiet_ >= kSettled) {
      const Cycle arrival = next_due();
      const Cycle timer = next_timer();
      const Cycle due = std::min(arrival, timer);
      const bool may_wait = limits.until_idle || end == kNever;
      if (arrival == kNever && may_wait && awaits_others() && !faulty_sources()) {
        flush_sinks();  // whoever reads our output may be who feeds our input
        if (!pass_time(std::min(timer, end), limits.slice_ms)) return asked_ ? HR_STOP_ASKED : HR_STOP_SLICE;
        if (clock_.cycle() >= end) continue;
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

// What other programs have sent: doorbells' signals, the console's input.
void Card::take_events() {
  if (!doorbells_.empty()) doorbells_.take(rung_);
  if (console_.waits_for() >= 0 && console_.fetch()) quiet_ = 0;
}

// Whether something can come at any time: frames of live sources, doorbells, the console's input.
bool Card::awaits_others() const {
  if (!doorbells_.empty() || console_.waits_for() >= 0) return true;
  for (unsigned p = 0; p < ports_.size(); ++p) {
    if (source_waits(p) && ports_[p].source->waits_for() >= 0) return true;
  }
  return false;
}

// Whether a port's source may have a frame later.
bool Card::source_waits(uint32_t number) const {
  if (number < port_count_) return rx_[number].waiting();
  const FunctionPort* function = function_port(number);
  return function != nullptr && function->waiting();
}

void Card::wake(uint32_t number) {
  if (number < port_count_) {
    rx_[number].wake(clock_.cycle());
  } else if (FunctionPort* function = function_port(number)) {
    function->wake(clock_.cycle());
    functions_due_ = std::min(functions_due_, function->due());
  }
}

// Lets the drivers of functions do what is due.
void Card::serve_functions() {
  const Cycle now = clock_.cycle();
  functions_due_ = kNever;
  for (size_t n = 0; n < functions_.size(); ++n) {
    FunctionPort* function = functions_[n].get();
    if (function == nullptr) continue;
    if (function->due() <= now) {
      Port& port = ports_[port_count_ + n];
      function->serve(now, rung_, [&](std::span<const uint8_t> bytes) { deliver_received(port, bytes); });
    }
    functions_due_ = std::min(functions_due_, function->due());
  }
}

// One that has broken off, while others may go on for ever.
bool Card::faulty_sources() const {
  return std::any_of(ports_.begin(), ports_.end(),
                     [](const Port& port) { return port.source && !port.source->fault().empty(); });
}

// Wakes the ports whose sources can go on and takes events, after at most so many milliseconds (-1: however long).
// False: there was nothing.
bool Card::wait_for_others(int milliseconds) {
  std::vector<pollfd> waiting(ports_.size() + 2 + asking_.size());
  std::vector<unsigned> numbers(ports_.size());
  nfds_t count = 0;
  for (unsigned p = 0; p < ports_.size(); ++p) {
    const int descriptor = source_waits(p) ? ports_[p].source->waits_for() : -1;
    if (descriptor < 0) continue;
    numbers[count] = p;
    waiting[count++] = {descriptor, POLLIN, 0};
  }
  const nfds_t sources = count;
  if (!doorbells_.empty()) waiting[count++] = {doorbells_.descriptor(), POLLIN, 0};
  if (console_.waits_for() >= 0) waiting[count++] = {console_.waits_for(), POLLIN, 0};
  const nfds_t asking = count;
  for (const int32_t descriptor : asking_) waiting[count++] = {descriptor, POLLIN, 0};
  if (count == 0) return false;
  std::chrono::nanoseconds waited{0};
  {
    const WallTimer timer(waited);
    if (::poll(waiting.data(), count, milliseconds) < 0) return false;
  }
  wall_ -= waited;  // not the simulator's
  bool woken = false;
  for (nfds_t n = 0; n < sources; ++n) {
    if (waiting[n].revents == 0) continue;
    wake(numbers[n]);
    woken = true;
  }
  asked_ =
      std::any_of(waiting.begin() + static_cast<ptrdiff_t>(asking), waiting.begin() + static_cast<ptrdiff_t>(count),
                  [](const pollfd& one) { return one.revents != 0; });
  take_events();
  return woken || !rung_.empty() || quiet_ == 0;
}

// An idle card with live sources or doorbells: waits for them, a slice of wall time at most (0: however long). The
// card's time goes with the wall's where something in it is due, a timer or the run's end. False: the slice is over or
// somebody asked, and nothing came.
bool Card::pass_time(Cycle due, uint32_t slice_ms) {
  constexpr uint64_t kNsPerMs = 1'000'000;
  const Cycle now = clock_.cycle();
  const uint64_t slice = slice_ms == 0 ? UINT64_MAX : slice_ms;
  uint64_t left = UINT64_MAX;  // ms, rounded down
  if (due != kNever) left = skip_idle_ ? clock_.ns_in(static_cast<uint64_t>(due - now)) / kNsPerMs : 0;
  const uint64_t wait = std::min(slice, left);
  std::chrono::nanoseconds waited{0};
  {
    const WallTimer timer(waited);
    if (wait_for_others(wait > INT_MAX ? -1 : static_cast<int>(wait))) return true;
  }
  if (due == kNever) return false;
  if (!skip_idle_) return true;
  skip_to(wait == left ? due : std::min(due, now + clock_.cycles_in(static_cast<uint64_t>(waited.count()))));
  return clock_.cycle() == due;
}

// A busy card that moves nothing hangs, unless all it lacks is a frame that is still on the wire.
void Card::check_progress() {
  const Cycle now = clock_.cycle();
  if (quiet_ != 0) active_ = now;  // an idle card is not busy, however long
  if (now - active_ < hang_limit_) return;
  const Cycle due = next_due();
  if (due != kNever && due > now + 1) return;
  throw Error(HR_ERROR_HANG, "the card hangs: busy for " +
                                 std::to_string(clock_.ns_in(static_cast<uint64_t>(now - active_)) / 1000) +
                                 " us at cycle " + std::to_string(now) + " and nothing moves on its ports");
}

void Card::skip_to(Cycle cycle) {
  const auto cycles = static_cast<uint64_t>(cycle - clock_.cycle());
  skipped_ += cycles;
  trace_half_cycles_ += 2 * cycles;
  clock_.jump(cycle);
  active_ = cycle;
}

Cycle Card::next_due() const {
  Cycle due = functions_due_;
  for (const MacRx& mac : rx_) due = std::min(due, mac.due());
  return due;
}

Cycle Card::next_timer() const {
  const uint64_t wake = pins_.wake_ns == nullptr ? UINT64_MAX : *pins_.wake_ns;
  return wake == UINT64_MAX ? kNever : std::max(clock_.cycle_at(wake), clock_.cycle());
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
  for (unsigned p = 0; p < ports_.size(); ++p) {
    Port& port = ports_[p];
    if (port.attached) continue;
    port.attached = true;
    Pacing pacing = Pacing::line();
    if (port.timing == HR_TIMING_RATE) pacing = Pacing::rate(port.bits_per_s, clock_);
    if (port.timing == HR_TIMING_RECORDED) {
      pacing = Pacing::recorded(port.source->first_time_ns().value_or(clock_.ns()), clock_);
    }
    if (FunctionPort* function = function_port(p)) {
      function->attach(port.source.get(), pacing, port.packets);
    } else {
      rx_[p].attach(port.source.get(), pacing, port.packets);
    }
  }
}

// What the headers of files say: what the first capture's does.
CaptureFormat Card::capture_format() const {
  for (const Port& port : ports_) {
    if (const auto found = port.source ? port.source->format() : std::nullopt) return *found;
  }
  return packets_.format().value_or(CaptureFormat{});
}

void Card::begin_sinks() {
  const CaptureFormat format = capture_format();
  for (Port& port : ports_) {
    for (AttachedSink& attached : port.sinks) {
      if (!attached.begun) attached.sink->begin(format);
      attached.begun = true;
    }
  }
}

void Card::flush_sinks() {
  console_.flush();
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
  for (unsigned p = 0; p < ports_.size(); ++p) {
    if (!ports_[p].source || ports_[p].source->fault().empty()) continue;
    const std::string fault = ports_[p].source->fault();
    remove_source(p);
    throw Error(HR_ERROR_CAPTURE, fault);
  }
}

}  // namespace headrace
