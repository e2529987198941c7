// A card: the Verilated model, its clock, and everything that is connected to it.
#pragma once

#include <verilated.h>

#include <array>
#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>
#if VM_TRACE
#include <verilated_fst_c.h>
#endif

#include "Vcard.h"
#include "arrivals.h"
#include "axi_lite.h"
#include "axi_memory.h"
#include "clock.h"
#include "config.h"
#include "error.h"
#include "headrace.h"
#include "host_memory.h"
#include "links.h"
#include "mac_rx.h"
#include "mac_tx.h"
#include "memory_sink.h"
#include "packet_memories.h"
#include "passthrough.h"
#include "queue_source.h"
#include "record_writer.h"
#include "sink.h"
#include "source.h"

namespace headrace {

class Card {
 public:
  Card(uint64_t clock_hz, const char* trace);
  ~Card();
  Card(const Card&) = delete;
  Card& operator=(const Card&) = delete;

  void set_option(uint32_t option, uint64_t value);
  void set_rate(uint32_t port, uint64_t bits_per_s);
  void set_flow_control(uint32_t port, bool on);
  void attach_source(const hr_source& request);
  void attach_sink(const hr_sink& request);
  void end_source(uint32_t port);
  RecordWriter make_writer(const hr_sink& request);
  void send(uint32_t port, const uint8_t* data, uint32_t length, uint32_t wire_length, bool bad_fcs);
  bool receive(uint32_t port, int32_t program, hr_frame& frame);
  void expect_passthrough(uint32_t source, uint32_t destination);
  void stop_sources();

  // Gives HR_STOP_...
  int run(const hr_run_limits& limits);
  uint32_t read_register(uint32_t address);
  void write_registers(std::span<const hr_register_write> writes);
  size_t take_irqs(std::span<hr_irq> irqs);
  HostMemory& memory() { return memory_; }
  PacketMemories& packets() { return packets_; }

  hr_stats stats() const;
  hr_port_stats port_stats(uint32_t port) const;
  bool passthrough_stats(uint32_t n, hr_passthrough_stats& stats) const;

  // Finishes and removes all sinks; the first error is thrown once all have been tried.
  void close_sinks();

 private:
  struct AttachedSink {
    std::unique_ptr<Sink> sink;
    MemorySink* memory = nullptr;  // the same sink, if it is one
    int program = -1;
    uint32_t snap_length = 0;
    uint64_t left = UINT64_MAX;  // frames that it still takes
    bool recorded_times = true;
    bool begun = false;
    std::array<uint64_t, kPorts> hints{};  // where in a port's arrivals the last record was found
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
    Arrivals arrivals;
    std::optional<unsigned> cable_to;
    std::vector<Passthrough*> checks_in;
    std::vector<Passthrough*> checks_out;
  };

  void reset();
  void evaluate(bool edge);
  void step();
  void step_rx(unsigned number, bool ready, Cycle now);
  void step_tx(unsigned number, Cycle now);
  void deliver(Port& port, const TxFrame& frame, Cycle now);
  void record(AttachedSink& to, const TxFrame& frame);
  RecordTime record_time(AttachedSink& to, const TxFrame& frame);
  bool cable_full(const Port& port) const;
  void wait_for_registers(const char* access, uint32_t address);

  int run_loop(const hr_run_limits& limits);
  void check_progress();
  bool waiting_sources() const;
  bool faulty_sources() const;
  bool wait_for_sources(int milliseconds);
  void skip_to(Cycle cycle);
  Cycle next_due() const;
  Cycle next_timer() const;
  int milliseconds_until(Cycle cycle) const;
  Cycle drained_at() const;
  void attach_sources();
  CaptureFormat capture_format() const;
  void begin_sinks();
  void flush_sinks();
  void raise_sink_error();
  void report_fault();
  void remove_source(uint32_t number);
  Port& port(uint32_t number);
  const Port& port(uint32_t number) const;

  Clock clock_;
  VerilatedContext context_;
  std::unique_ptr<Vcard> model_;
#if VM_TRACE
  std::unique_ptr<VerilatedFstC> trace_;
  uint64_t trace_half_cycles_ = 0;
#endif
  std::array<Port, kPorts> ports_;
  std::vector<MacRx> rx_;
  std::vector<MacTx> tx_;
  Links links_;
  HostMemory memory_;
  PacketMemories packets_{memory_, links_};
  hr_memory_stats memory_stats_{};
  AxiMemory<Vcard> axi_memory_;
  AxiLite<Vcard> axi_lite_;
  std::deque<hr_irq> irqs_;
  std::deque<Passthrough> checks_;
  std::optional<Error> sink_error_;  // raised once the cycle is complete

  bool skip_idle_ = true;
  bool time_set_ = false;
  bool sink_full_ = false;  // a sink has all the frames that it was to take
  bool sliced_ = false;     // the last run stopped only because its slice of wall time was over
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
