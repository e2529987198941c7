// SPDX-License-Identifier: Apache-2.0
// A card: the Verilated model, its clock, and everything that is connected to it.
#pragma once

#include <array>
#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "card/axi_lite.h"
#include "card/console.h"
#include "card/events.h"
#include "card/model.h"
#include "card/slots.h"
#include "error.h"
#include "headrace.h"
#include "host/function_port.h"
#include "links/links.h"
#include "links/memory_sink.h"
#include "links/queue_source.h"
#include "links/record_writer.h"
#include "links/sink.h"
#include "links/source.h"
#include "memory/axi_memory.h"
#include "memory/host_memory.h"
#include "memory/packet_memories.h"
#include "wire/arrivals.h"
#include "wire/cable.h"
#include "wire/clock.h"
#include "wire/mac_rx.h"
#include "wire/mac_tx.h"
#include "wire/passthrough.h"

namespace headrace {

class Card {
 public:
  Card(const std::string& library, uint64_t clock_hz, const char* trace);
  Card(const Card&) = delete;
  Card& operator=(const Card&) = delete;

  void set_option(uint32_t option, uint64_t value);
  void set_rate(uint32_t port, uint64_t bits_per_s);
  void set_flow_control(uint32_t port, bool on);
  void attach_source(const hr_source& request);
  void attach_sink(const hr_sink& request);
  void end_source(uint32_t port);
  bool link_up(uint32_t number);
  std::string link_name(uint32_t number);
  RecordWriter make_writer(const hr_sink& request);
  void send(uint32_t port, const uint8_t* data, uint32_t length, uint32_t wire_length, bool cut, bool bad_fcs);
  bool receive(uint32_t port, int32_t select, hr_frame& frame);
  void expect_passthrough(uint32_t source, uint32_t destination);
  void stop_sources();

  // Gives HR_STOP_...
  int run(const hr_run_limits& limits);
  uint32_t read_register(uint32_t address);
  void write_registers(std::span<const hr_register_write> writes);
  size_t take_irqs(std::span<hr_irq> irqs);
  void attach_console(const hr_console& request);
  void write_console(uint32_t core, std::span<const uint8_t> bytes);
  void load_slot(uint32_t number, const std::string& library);
  void unload_slot(uint32_t number);
  Console& console() { return console_; }
  // Fills in two queues' addresses, and gives the port's number.
  uint32_t attach_function(const hr_function& request, hr_virtqueue* queues);
  void detach_function(uint32_t port);
  BoundInterrupts& bound_interrupts() { return bound_interrupts_; }
  BoundDoorbells& doorbells() { return doorbells_; }
  HostMemory& memory() { return memory_; }
  PacketMemories& packets() { return packets_; }

  const ModelTable& sizes() const { return model_.sizes(); }
  CaptureFormat capture_format() const;
  hr_stats stats() const;

  // For a coordinator, which steps several cards.
  uint64_t time_ns() const { return clock_.ns(); }
  // When something happens next that nobody else causes; UINT64_MAX: never.
  uint64_t next_event_ns() const;
  void begin_run();
  // Through all cycles before a time.
  void advance(uint64_t until_ns, bool until_idle);
  void end_run();
  void attach_cable(uint32_t port, std::shared_ptr<Cable> cable);
  void attach_cable_end(uint32_t port, std::unique_ptr<CableSource> source);
  bool flow_control(uint32_t port) const { return rx_[port].flow_control(); }
  void wake(uint32_t port);

  hr_port_stats port_stats(uint32_t port) const;
  hr_totals sink_totals(uint32_t port, int select) const;
  bool passthrough_stats(uint32_t n, hr_passthrough_stats& stats) const;

  // Finishes and removes all sinks; the first error is thrown once all have been tried.
  void close_sinks();

 private:
  struct AttachedSink {
    std::unique_ptr<Sink> sink;
    MemorySink* memory = nullptr;  // the same sink, if it is one
    int select = -1;
    int length_at = -1;
    uint32_t snap_length = 0;
    uint64_t left = UINT64_MAX;  // frames that it still takes
    bool recorded_times = true;
    bool begun = false;
    hr_totals taken{};
    std::vector<uint64_t> hints;  // where in a port's arrivals the last record was found
  };

  struct Port {
    hr_port_stats stats{};
    std::unique_ptr<Source> source;
    QueueSource* queue = nullptr;  // the same source, if it is one
    uint32_t timing = HR_TIMING_LINE;
    uint64_t bits_per_s = 0;
    uint64_t packets = UINT64_MAX;  // of the source at most
    bool attached = true;           // the MAC has the source
    std::vector<AttachedSink> sinks;
    std::map<int, hr_totals> written;  // by `select`, of sinks that are finished
    Arrivals arrivals;
    std::optional<unsigned> cable_to;
    std::shared_ptr<Cable> cable;  // to another card
    std::vector<Passthrough*> checks_in;
    std::vector<Passthrough*> checks_out;
  };

  void reset();
  void evaluate(bool edge);
  void step();
  void step_rx(unsigned number, bool ready, Cycle now);
  void step_tx(unsigned number, Cycle now);
  void deliver(Port& port, const TxFrame& frame, Cycle now);
  void deliver_received(Port& port, std::span<const uint8_t> bytes);
  bool call_function(const hr_irq& irq);
  void record(AttachedSink& to, const TxFrame& frame);
  RecordTime record_time(AttachedSink& to, const TxFrame& frame);
  bool cable_full(const Port& port) const;
  FunctionPort* function_port(uint32_t number) const;
  bool offloads(uint32_t number) const;
  bool source_waits(uint32_t number) const;
  void wait_for_registers(const char* access, uint32_t address);
  void check_answers(const char* access, uint32_t address);
  void check_refusal(const char* access);
  void serve_functions();
  void serve_doorbells();
  void finish_doorbells();
  bool step_console();
  void take_events();

  int run_loop(const hr_run_limits& limits);
  void check_progress();
  bool awaits_others() const;
  bool faulty_sources() const;
  bool wait_for_others(int milliseconds);
  bool pass_time(Cycle due, uint32_t slice_ms);
  void skip_to(Cycle cycle);
  Cycle next_due() const;
  Cycle next_timer() const;
  Cycle drained_at() const;
  void attach_sources();
  void begin_sinks();
  void flush_sinks();
  void raise_sink_error();
  void report_fault();
  void check_link_type(uint32_t number, const Source& source) const;
  void remove_source(uint32_t number);
  void check_free(uint32_t number);
  void close_sinks_of(Port& port);
  MacRx& mac(uint32_t number);
  Port& port(uint32_t number);
  const Port& port(uint32_t number) const;

  Clock clock_;
  Slots slots_;  // whose libraries the model needs to the end
  Model model_;
  const Pins pins_;
  const unsigned port_count_;
  WordIn rx_tvalid_;
  WordOut rx_tready_;
  WordOut tx_tvalid_;
  WordIn tx_tready_;
  bool traced_ = false;
  uint64_t trace_half_cycles_ = 0;
  std::deque<Port> ports_;  // the MACs', then the functions'
  std::vector<MacRx> rx_;
  std::vector<MacTx> tx_;
  Links links_{port_count_};
  HostMemory memory_;
  PacketMemories packets_{memory_, links_};
  hr_memory_stats memory_stats_{};
  AxiMemory axi_memory_;
  AxiLite axi_lite_;
  std::vector<std::unique_ptr<FunctionPort>> functions_;  // by port; none: it is detached
  Cycle functions_due_ = kNever;
  std::deque<hr_irq> irqs_;
  Console console_{pins_};
  BoundInterrupts bound_interrupts_;
  BoundDoorbells doorbells_;
  std::vector<hr_register_write> rung_;     // writes of doorbells that wait for the bus
  std::vector<hr_register_write> ringing_;  // that are on it
  size_t answers_ = 0;                      // of register accesses that came
  Cycle answered_at_ = 0;                   // when the last one did, or they began
  std::deque<Passthrough> checks_;
  std::optional<Error> sink_error_;  // raised once the cycle is complete

  bool skip_idle_ = true;
  bool time_set_ = false;
  bool sink_full_ = false;  // a sink has all the frames that it was to take
  bool sliced_ = false;     // the last run stopped only because its slice of wall time was over, or somebody asked
  std::span<const int32_t> asking_;  // descriptors that end the run
  bool asked_ = false;               // one of them can be read
  Cycle hang_limit_;
  Cycle active_ = 0;       // the last cycle in which something moved
  unsigned quiet_ = 0;     // cycles since the card has been idle with nothing on its ports
  uint64_t rx_valid_ = 0;  // a bit a port: a beat is on the bus
  uint64_t tx_ready_ = 0;
  uint64_t tx_waiting_ = 0;  // a bit a port: the beat was not taken in the cycle before
  uint64_t skipped_ = 0;
  uint64_t received_ = 0;
  uint64_t interrupts_ = 0;
  std::chrono::nanoseconds wall_{0};
};

}  // namespace headrace
