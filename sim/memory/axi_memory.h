// SPDX-License-Identifier: Apache-2.0
// Host memory behind the card's AXI4 port (IHI 0022): latency, bandwidth, a limit of outstanding bursts, and completion
// out of order between IDs. Each burst is checked against the protocol; the first breach ends the run.
//
// Others may have the memory mapped as well: what a burst writes is seen after all that bursts before it have written,
// and a burst reads after what they have read and written.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdio>
#include <cstring>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "error.h"
#include "headrace.h"
#include "memory/host_memory.h"
#include "memory/shared_bytes.h"
#include "model/table.h"
#include "wire/clock.h"

namespace headrace {

// Address channel of a burst, as it was on the bus.
struct AxiBurst {
  enum Type : uint8_t { kFixed = 0, kIncr = 1, kWrap = 2 };

  uint64_t address = 0;
  uint16_t function = 0;
  uint8_t id = 0;
  uint8_t length = 0;  // beats - 1
  uint8_t size = 0;    // log2 of the bytes in a beat
  uint8_t type = kIncr;

  bool operator==(const AxiBurst&) const = default;

  uint64_t beat_bytes() const { return uint64_t{1} << size; }
  unsigned beats() const { return length + 1u; }

  uint64_t beat_address(unsigned beat) const {
    if (beat == 0 || type == kFixed) return address;
    const uint64_t next = (address & ~(beat_bytes() - 1)) + beat * beat_bytes();
    if (type == kIncr) return next;
    const uint64_t window = beat_bytes() * beats();
    const uint64_t base = address / window * window;
    return base + (next - base) % window;
  }

  // What the protocol forbids about it, or nothing.
  const char* fault(unsigned bus_bytes) const {
    if (beat_bytes() > bus_bytes) return "has beats wider than the bus";
    if (type > kWrap) return "has a reserved burst type";
    if (type == kFixed && length > 15) return "is FIXED and longer than 16 beats";
    if (type == kWrap) {
      if (length != 1 && length != 3 && length != 7 && length != 15) return "is WRAP and not 2, 4, 8 or 16 beats long";
      if (address % beat_bytes() != 0) return "is WRAP and not aligned to its beats";
    }
    const uint64_t end = (address & ~(beat_bytes() - 1)) + beat_bytes() * beats() - 1;
    if (type == kIncr && address >> 12 != end >> 12) return "crosses a 4 KB boundary";
    return nullptr;
  }
};

class AxiMemory {
 public:
  AxiMemory(const Pins& pins, unsigned bus_bytes, HostMemory& memory, const Clock& clock, hr_memory_stats& stats)
      : pins_(pins), bus_bytes_(bus_bytes), memory_(memory), clock_(clock), stats_(stats), held_data_(bus_bytes) {}

  void set_option(uint32_t option, uint64_t value) {
    switch (option) {
      case HR_MEMORY_READ_LATENCY_NS:
        read_.latency = clock_.cycles_in(value);
        break;
      case HR_MEMORY_WRITE_LATENCY_NS:
        write_.latency = clock_.cycles_in(value);
        break;
      case HR_MEMORY_READ_BITS_PER_S:
        set_rate(read_, value);
        break;
      case HR_MEMORY_WRITE_BITS_PER_S:
        set_rate(write_, value);
        break;
      case HR_MEMORY_READS:
        read_.limit = std::max<uint64_t>(value, 1);
        break;
      case HR_MEMORY_WRITES:
        write_.limit = std::max<uint64_t>(value, 1);
        break;
      case HR_MEMORY_OUT_OF_ORDER:
        seed_ = value;
        break;
      case HR_MEMORY_STALLS:
        stalls_ = value;
        break;
      case HR_MEMORY_WRITE_WAITS:
        write_waits_ = value;
        break;
      default:
        throw Error(HR_ERROR_USAGE, "unknown memory option " + std::to_string(option));
    }
  }

  // Bursts are under way: the model must be evaluated.
  bool busy() const {
    return !reads_.empty() || !writes_.empty() || !responses_.empty() || *pins_.m_axi_rvalid || *pins_.m_axi_bvalid;
  }

  void drive(Cycle now) {
    const bool nothing =
        stalls_ == 0 && reads_.empty() && writes_.empty() && responses_.empty() && !read_taken_ && !response_taken_;
    if (nothing && driven_) return;
    driven_ = nothing;
    const uint64_t stalled = stalls_ == 0 ? 0 : random(stalls_);  // a bit for each channel
    *pins_.m_axi_arready = reads_.size() < read_.limit && !(stalled & 1);
    *pins_.m_axi_awready = writes_.size() + responses_.size() < write_.limit && !(stalled & 2);
    *pins_.m_axi_wready =
        !writes_.empty() && now >= write_.next.next_cycle() && !(stalled & 4) && writes_.front().waited >= write_waits_;
    if (read_taken_) *pins_.m_axi_rvalid = read_taken_ = false;
    if (!*pins_.m_axi_rvalid && !reads_.empty() && !(stalled & 8)) drive_read(now);
    if (response_taken_) *pins_.m_axi_bvalid = response_taken_ = false;
    if (!*pins_.m_axi_bvalid && !responses_.empty() && !(stalled & 16)) drive_response(now);
  }

  // Takes and finishes what was shaken hands on; true: something was.
  bool sample(Cycle now) {
    read_taken_ = *pins_.m_axi_rvalid && *pins_.m_axi_rready;
    response_taken_ = *pins_.m_axi_bvalid && *pins_.m_axi_bready;
    bool active = read_taken_ || response_taken_;
    if (read_taken_) finish_read_beat(now);
    if (*pins_.m_axi_wvalid || held_write_) active |= sample_write(now);
    if (*pins_.m_axi_arvalid || held_ar_) active |= sample_read_address(now);
    if (*pins_.m_axi_awvalid || held_aw_) active |= sample_write_address();
    return active;
  }

 private:
  struct Direction {
    Cycle latency = 0;
    uint64_t limit = 64;
    std::optional<WireRate> rate;
    WireTime next;  // when the next beat may go
  };

  struct Read {
    AxiBurst burst;
    Cycle ready;  // when its first beat may go
    unsigned beat = 0;
    bool failed = false;
  };

  struct Write {
    AxiBurst burst;
    unsigned beat = 0;
    uint64_t waited = 0;  // cycles that its first beat was kept waiting
    HostMemory::Answer answer = HostMemory::Answer::kOkay;
  };

  struct Response {
    uint8_t id;
    Cycle ready;
    HostMemory::Answer answer;
  };

  void set_rate(Direction& direction, uint64_t bits_per_s) {
    direction.rate.reset();
    if (bits_per_s != 0) direction.rate.emplace(bits_per_s, clock_.hz());
    direction.next = {};
  }

  void spend(Direction& direction, Cycle now) {
    if (!direction.rate) return;
    if (direction.next.next_cycle() < now) direction.next = {now, 0};
    direction.next = direction.rate->after(direction.next, bus_bytes_);
  }

  // Latency of a burst: spread over up to twice the time when bursts may overtake each other.
  Cycle delay(const Direction& direction) {
    if (seed_ == 0) return direction.latency;
    return direction.latency + static_cast<Cycle>(random(seed_) % static_cast<uint64_t>(direction.latency + kSpread));
  }

  static uint64_t random(uint64_t& state) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;  // xorshift64
    return state >> 8;
  }

  // The next of a queue that may go, oldest first; nothing overtakes one with the same ID. queue.size(): none.
  template <class Queue, class Id>
  size_t pick(const Queue& queue, Cycle now, Id id) const {
    size_t best = queue.size();
    const size_t candidates = seed_ == 0 ? 1 : queue.size();
    for (size_t i = 0; i < candidates; ++i) {
      if (queue[i].ready > now || (best < queue.size() && queue[i].ready >= queue[best].ready)) continue;
      const auto same = [&](const auto& earlier) { return id(earlier) == id(queue[i]); };
      if (std::none_of(queue.begin(), queue.begin() + static_cast<std::ptrdiff_t>(i), same)) best = i;
    }
    return best;
  }

  void drive_read(Cycle now) {
    if (now < read_.next.next_cycle()) return;
    if (current_ == kNone) {
      const size_t chosen = pick(reads_, now, [](const Read& read) { return read.burst.id; });
      if (chosen == reads_.size()) return;
      current_ = chosen;
    }
    Read& read = reads_[current_];
    if (read.beat == 0) order_read();
    const uint64_t address = read.burst.beat_address(read.beat);
    const uint64_t bytes = read.burst.beat_bytes() - address % read.burst.beat_bytes();
    uint8_t* data = nullptr;
    const auto answer = memory_.locate(read.burst.function, address, bytes, false, data);
    if (answer == HostMemory::Answer::kOkay) {
      load_bytes(pins_.m_axi_rdata + address % bus_bytes_, data, bytes);
      stats_.read_bytes += bytes;
    } else {
      read.failed = true;
      for (unsigned lane = 0; lane < bus_bytes_; ++lane) pins_.m_axi_rdata[lane] = static_cast<uint8_t>(random(noise_));
    }
    *pins_.m_axi_rid = read.burst.id;
    *pins_.m_axi_rresp = static_cast<uint8_t>(answer);
    *pins_.m_axi_rlast = read.beat == read.burst.length;
    *pins_.m_axi_rvalid = 1;
  }

  void finish_read_beat(Cycle now) {
    spend(read_, now);
    Read& read = reads_[current_];
    if (++read.beat < read.burst.beats()) return;
    stats_.errors += read.failed;
    reads_.erase(reads_.begin() + static_cast<std::ptrdiff_t>(current_));
    current_ = kNone;
  }

  void drive_response(Cycle now) {
    const size_t chosen = pick(responses_, now, [](const Response& response) { return response.id; });
    if (chosen == responses_.size()) return;
    *pins_.m_axi_bid = responses_[chosen].id;
    *pins_.m_axi_bresp = static_cast<uint8_t>(responses_[chosen].answer);
    *pins_.m_axi_bvalid = 1;
    responses_.erase(responses_.begin() + static_cast<std::ptrdiff_t>(chosen));
  }

  bool sample_read_address(Cycle now) {
    const AxiBurst burst{*pins_.m_axi_araddr, *pins_.m_axi_aruser, *pins_.m_axi_arid,
                         *pins_.m_axi_arlen,  *pins_.m_axi_arsize, *pins_.m_axi_arburst};
    if (!shake(*pins_.m_axi_arvalid, *pins_.m_axi_arready, burst, held_ar_, "read")) return false;
    reads_.push_back({burst, now + 1 + delay(read_)});
    ++stats_.read_bursts;
    return true;
  }

  bool sample_write_address() {
    const AxiBurst burst{*pins_.m_axi_awaddr, *pins_.m_axi_awuser, *pins_.m_axi_awid,
                         *pins_.m_axi_awlen,  *pins_.m_axi_awsize, *pins_.m_axi_awburst};
    if (!shake(*pins_.m_axi_awvalid, *pins_.m_axi_awready, burst, held_aw_, "write")) return false;
    writes_.push_back({burst});
    ++stats_.write_bursts;
    return true;
  }

  // A valid address must stay until it is taken. True: it is taken now, and the burst is a legal one.
  bool shake(bool valid, bool ready, const AxiBurst& burst, std::optional<AxiBurst>& held, const char* kind) {
    if (held && (!valid || *held != burst)) breach(kind, *held, "changed or went before it was taken");
    held.reset();
    if (!valid) return false;
    if (!ready) {
      held = burst;
      return false;
    }
    if (const char* fault = burst.fault(bus_bytes_)) breach(kind, burst, fault);
    return true;
  }

  bool sample_write(Cycle now) {
    const bool valid = *pins_.m_axi_wvalid;
    if (held_write_ && (!valid || *pins_.m_axi_wlast != held_last_ ||
                        std::memcmp(held_data_.data(), pins_.m_axi_wdata, bus_bytes_) != 0)) {
      throw Error(HR_ERROR_PROTOCOL, "m_axi: write data changed or went before it was taken");
    }
    held_write_ = valid && !*pins_.m_axi_wready;
    if (held_write_ && !writes_.empty()) ++writes_.front().waited;
    if (held_write_) {
      held_last_ = *pins_.m_axi_wlast;
      std::memcpy(held_data_.data(), pins_.m_axi_wdata, bus_bytes_);
    }
    if (!valid || held_write_) return false;

    Write& write = writes_.front();
    const bool last = write.beat == write.burst.length;
    if (static_cast<bool>(*pins_.m_axi_wlast) != last) {
      breach("write", write.burst, last ? "has no wlast on its last beat" : "has wlast before its last beat");
    }
    if (write.beat == 0) std::atomic_thread_fence(std::memory_order_release);
    store(write);
    spend(write_, now);
    ++write.beat;
    if (last) {
      stats_.errors += write.answer != HostMemory::Answer::kOkay;
      responses_.push_back({write.burst.id, now + 1 + delay(write_), write.answer});
      writes_.pop_front();
    }
    return true;
  }

  bool strobe(unsigned lane) const { return (pins_.m_axi_wstrb[lane / 8] >> (lane % 8)) & 1; }

  // As PCIe has it, a read pushes the writes before it.
  void order_read() {
    std::atomic_thread_fence(written_ ? std::memory_order_seq_cst : std::memory_order_acquire);
    written_ = false;
  }

  void store(Write& write) {
    const uint64_t address = write.burst.beat_address(write.beat);
    const unsigned low = static_cast<unsigned>(address % bus_bytes_);
    const unsigned high = low + static_cast<unsigned>(write.burst.beat_bytes() - address % write.burst.beat_bytes());
    unsigned first = bus_bytes_, last = 0, count = 0;
    for (unsigned base = 0; base < bus_bytes_; base += 64) {
      uint64_t lanes = 0;
      std::memcpy(&lanes, pins_.m_axi_wstrb + base / 8, (std::min(64U, bus_bytes_ - base) + 7) / 8);
      if (lanes == 0) continue;
      first = std::min(first, base + static_cast<unsigned>(std::countr_zero(lanes)));
      last = base + 63 - static_cast<unsigned>(std::countl_zero(lanes));
      count += static_cast<unsigned>(std::popcount(lanes));
    }
    if (count == 0) return;
    if (first < low || last >= high) breach("write", write.burst, "has strobes outside its address");
    uint8_t* bytes = nullptr;
    const auto answer = memory_.locate(write.burst.function, address - low + first, last - first + 1, true, bytes);
    if (answer != HostMemory::Answer::kOkay) {
      write.answer = std::max(write.answer, answer);
      return;
    }
    stats_.write_bytes += count;
    written_ = true;
    if (count == last - first + 1) {
      store_bytes(bytes, pins_.m_axi_wdata + first, count);
      return;
    }
    for (unsigned lane = first, end = first; lane <= last; lane = end + 1) {
      for (end = lane; end <= last && strobe(end);) ++end;
      store_bytes(bytes + (lane - first), pins_.m_axi_wdata + lane, end - lane);
    }
  }

  [[noreturn]] void breach(const char* kind, const AxiBurst& burst, const char* what) const {
    char text[192];
    std::snprintf(text, sizeof text, "m_axi: a %s burst of %u beats of %u bytes at 0x%llx (id %u) %s", kind,
                  burst.beats(), 1u << burst.size, static_cast<unsigned long long>(burst.address), burst.id, what);
    throw Error(HR_ERROR_PROTOCOL, text);
  }

  static constexpr size_t kNone = SIZE_MAX;
  static constexpr Cycle kSpread = 16;

  const Pins pins_;
  unsigned bus_bytes_;
  HostMemory& memory_;
  const Clock& clock_;
  hr_memory_stats& stats_;
  Direction read_;
  Direction write_;
  uint64_t seed_ = 0;                    // of the order between IDs
  uint64_t stalls_ = 0;                  // state of the generator of stalls
  uint64_t noise_ = 0x9e3779b97f4a7c15;  // the same for the data of reads that fail: noise, as on a bus
  uint64_t write_waits_ = 0;
  std::deque<Read> reads_;
  size_t current_ = kNone;  // the read whose beats are on the bus
  std::deque<Write> writes_;
  std::deque<Response> responses_;
  bool driven_ = false;      // the signals say already that nothing is under way
  bool read_taken_ = false;  // in this cycle; the signals change after its edge
  bool response_taken_ = false;
  bool written_ = false;  // since the last read burst began
  std::optional<AxiBurst> held_ar_;
  std::optional<AxiBurst> held_aw_;
  bool held_write_ = false;
  bool held_last_ = false;
  std::vector<uint8_t> held_data_;
};

}  // namespace headrace
