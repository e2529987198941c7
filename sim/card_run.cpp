// Runs of a card: until when, what is skipped, and what is waited for.
#include <poll.h>

#include <algorithm>

#include "card.h"
#include "wall_timer.h"

namespace headrace {
namespace {

// An idle output may come from a register or two: so many cycles of silence are needed before time is skipped.
constexpr unsigned kSettled = 4;
constexpr unsigned kCheckInterval = 1024;  // cycles between looks at the wall clock
constexpr int kDefaultSnapshot = 262144;   // tcpdump's

// When the card's earliest timer is due, of cards that say it by an output wake_ns.
template <typename Card>
uint64_t wake_ns(const Card& model) {
  if constexpr (requires { model.wake_ns; }) {
    return model.wake_ns;
  } else {
    return UINT64_MAX;
  }
}

}  // namespace

int Card::run(const hr_run_limits& limits) {
  attach_sources();
  begin_sinks();
  for (MacRx& mac : rx_) mac.wake(clock_.cycle());
  if (!sliced_) active_ = clock_.cycle();
  sliced_ = false;
  sink_full_ = false;
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
  sliced_ = reason == HR_STOP_SLICE;
  flush_sinks();
  if (reason == HR_STOP_IDLE) report_fault();
  return reason;
}

int Card::run_loop(const hr_run_limits& limits) {
  const WallTimer timer(wall_);
  const Cycle end = limits.cycles == 0 ? kNever : clock_.cycle() + static_cast<Cycle>(limits.cycles);
  const uint64_t packets_end = limits.packets == 0 ? UINT64_MAX : received_ + limits.packets;
  const auto slice = std::chrono::milliseconds(limits.slice_ms);
  for (unsigned n = 1;; ++n) {
    if (clock_.cycle() >= end) return HR_STOP_CYCLES;
    if (received_ >= packets_end) return HR_STOP_PACKETS;
    if (limits.until_interrupt && !irqs_.empty()) return HR_STOP_INTERRUPT;
    if (n % kCheckInterval == 0) {
      if (limits.slice_ms != 0 && timer.passed() >= slice) return HR_STOP_SLICE;
      if (limits.until_idle) check_progress();
      wait_for_sources(0);
    }
    if (quiet_ >= kSettled) {
      const Cycle arrival = next_due();
      const Cycle timer = next_timer();
      const Cycle due = std::min(arrival, timer);
      if (arrival == kNever && limits.until_idle && waiting_sources() && !faulty_sources()) {
        flush_sinks();  // whoever reads our output may be who feeds our input
        const int slice_ms = limits.slice_ms == 0 ? -1 : static_cast<int>(limits.slice_ms);
        const int timer_ms = timer == kNever ? -1 : milliseconds_until(timer);
        const bool timer_first = timer_ms >= 0 && (slice_ms < 0 || timer_ms <= slice_ms);
        if (!wait_for_sources(timer_first ? timer_ms : slice_ms)) {
          if (!timer_first) return HR_STOP_SLICE;
          if (skip_idle_) {
            skip_to(std::min(timer, end));
            continue;
          }
        }
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
    if (sink_full_) return HR_STOP_PACKETS;
  }
}

bool Card::waiting_sources() const {
  for (unsigned p = 0; p < kPorts; ++p) {
    if (rx_[p].waiting() && ports_[p].source->waits_for() >= 0) return true;
  }
  return false;
}

// One that has broken off, while others may go on for ever.
bool Card::faulty_sources() const {
  return std::any_of(ports_.begin(), ports_.end(),
                     [](const Port& port) { return port.source && !port.source->fault().empty(); });
}

// Wakes the ports whose sources can go on, after at most so many milliseconds (-1: however long). False: none could.
bool Card::wait_for_sources(int milliseconds) {
  std::array<pollfd, kPorts> waiting;
  std::array<unsigned, kPorts> numbers;
  nfds_t count = 0;
  for (unsigned p = 0; p < kPorts; ++p) {
    const int descriptor = rx_[p].waiting() ? ports_[p].source->waits_for() : -1;
    if (descriptor < 0) continue;
    numbers[count] = p;
    waiting[count++] = {descriptor, POLLIN, 0};
  }
  if (count == 0) return false;
  std::chrono::nanoseconds waited{0};
  {
    const WallTimer timer(waited);
    if (::poll(waiting.data(), count, milliseconds) < 0) return false;
  }
  wall_ -= waited;  // not the simulator's
  bool woken = false;
  for (nfds_t n = 0; n < count; ++n) {
    if (waiting[n].revents == 0) continue;
    rx_[numbers[n]].wake(clock_.cycle());
    woken = true;
  }
  return woken;
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
  skipped_ += static_cast<uint64_t>(cycle - clock_.cycle());
  clock_.jump(cycle);
  active_ = cycle;
}

Cycle Card::next_due() const {
  Cycle due = kNever;
  for (const MacRx& mac : rx_) due = std::min(due, mac.due());
  return due;
}

Cycle Card::next_timer() const {
  const uint64_t wake = wake_ns(*model_);
  return wake == UINT64_MAX ? kNever : std::max(clock_.cycle_at(wake), clock_.cycle());
}

// Wall time that live sources get before a timer, rounded down.
int Card::milliseconds_until(Cycle cycle) const {
  const uint64_t ns = clock_.ns_in(static_cast<uint64_t>(cycle - clock_.cycle()));
  return static_cast<int>(std::min<uint64_t>(ns / 1'000'000, 1000));
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
    rx_[p].attach(port.source.get(), pacing, port.packets);
  }
}

// What the headers of files say: what the first capture's does.
CaptureFormat Card::capture_format() const {
  for (const Port& port : ports_) {
    if (const auto found = port.source ? port.source->format() : std::nullopt) return *found;
  }
  return packets_.format().value_or(CaptureFormat{kDefaultSnapshot, 0});
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
    remove_source(p);
    throw Error(HR_ERROR_CAPTURE, fault);
  }
}

}  // namespace headrace
