// SPDX-License-Identifier: Apache-2.0
// A card's model as the harness takes it: the one file that is compiled with each card.
#include <svdpi.h>
#include <verilated.h>

#include <exception>
#include <map>
#include <memory>
#include <new>
#include <string>
#if VM_TRACE
#include <verilated_fst_c.h>
#endif

#include "Vcard.h"
#include "model/stopping.h"
#include "model/table.h"

namespace {

using headrace::guarded;
using headrace::ModelTable;
using headrace::Pins;
using headrace::SlotInputs;
using headrace::SlotOutputs;
using headrace::SlotTable;

// An accelerator slot, and what is in it.
class Slot {
 public:
  Slot() = default;
  Slot(const Slot&) = delete;
  Slot& operator=(const Slot&) = delete;
  ~Slot() { empty(); }

  void empty() {
    if (inside_ != nullptr) table_->destroy(inside_);
    inside_ = nullptr;
    sleeps_ = false;  // a last step tells that nothing is there
  }

  void fill(const SlotTable& table) {
    empty();
    inside_ = table.create();
    if (inside_ == nullptr) throw std::bad_alloc();
    table_ = &table;
    SlotInputs inputs{};
    inputs.flags = SlotInputs::kReset;
    SlotOutputs outputs{};
    for (int cycle = 0; cycle < kResetCycles; ++cycle) step(inputs, outputs);
    sleeps_ = false;
  }

  // Whether a step would change nothing.
  bool sleeps(uint8_t flags) const { return sleeps_ && (inside_ == nullptr || (flags & kAwake) == asleep_); }

  void step(const SlotInputs& inputs, SlotOutputs& outputs) {
    sleeps_ = true;
    asleep_ = inputs.flags & kAwake;
    if (inside_ == nullptr) return;
    if (const char* stopped = table_->step(inside_, &inputs, &outputs, &sleeps_)) throw headrace::Stopped(stopped);
  }

 private:
  static constexpr int kResetCycles = 4;
  static constexpr uint8_t kAwake = static_cast<uint8_t>(~(SlotInputs::kLast | SlotInputs::kRegWrite));

  const SlotTable* table_ = nullptr;
  void* inside_ = nullptr;  // nullptr: it is empty
  bool sleeps_ = false;
  uint8_t asleep_ = 0;  // the flags with which it does
};

struct Model {
  std::map<uint32_t, Slot> slots;
  VerilatedContext context;
  Vcard card{&context};
#if VM_TRACE
  std::unique_ptr<VerilatedFstC> trace;

  ~Model() {
    if (trace) trace->close();
  }
#endif
  std::string stopped;
  bool begun = false;

  void evaluate();
};

// The model that takes its first step, in which its slots are made.
thread_local Model* making = nullptr;

void Model::evaluate() {
  if (!begun) {
    begun = true;
    making = this;
  }
  card.eval();
}

Model& of(void* model) {
  return *static_cast<Model*>(model);
}

template <class Signal>
uint8_t* bytes(Signal& signal) {
  return reinterpret_cast<uint8_t*>(&signal);
}

template <class Card>
uint64_t* wake_ns(Card& card) {
  if constexpr (requires { card.wake_ns; }) {
    return &card.wake_ns;
  } else {
    return nullptr;
  }
}

template <class Card>
void add_console(Pins& pins, Card& card) {
  if constexpr (requires { card.console_tx_valid; }) {
    pins.console_tx_valid = &card.console_tx_valid;
    pins.console_tx_ready = &card.console_tx_ready;
    pins.console_tx_data = &card.console_tx_data;
    pins.console_tx_core = &card.console_tx_core;
    pins.console_rx_valid = &card.console_rx_valid;
    pins.console_rx_ready = &card.console_rx_ready;
    pins.console_rx_data = &card.console_rx_data;
    pins.console_rx_core = &card.console_rx_core;
  }
}

Pins pins_of(Vcard& card) {
  Pins pins{};
  pins.clk = &card.clk;
  pins.rst = &card.rst;
  pins.time_ns = &card.time_ns;
  pins.wake_ns = wake_ns(card);

  pins.rx_tvalid = bytes(card.rx_tvalid);
  pins.rx_tready = bytes(card.rx_tready);
  pins.rx_tdata = bytes(card.rx_tdata);
  pins.rx_tkeep = bytes(card.rx_tkeep);
  pins.rx_tlast = bytes(card.rx_tlast);
  pins.rx_tuser = bytes(card.rx_tuser);
  pins.tx_tvalid = bytes(card.tx_tvalid);
  pins.tx_tready = bytes(card.tx_tready);
  pins.tx_tdata = bytes(card.tx_tdata);
  pins.tx_tkeep = bytes(card.tx_tkeep);
  pins.tx_tlast = bytes(card.tx_tlast);
  pins.tx_tuser = bytes(card.tx_tuser);

  pins.s_axil_awaddr = bytes(card.s_axil_awaddr);
  pins.s_axil_awvalid = &card.s_axil_awvalid;
  pins.s_axil_awready = &card.s_axil_awready;
  pins.s_axil_wdata = &card.s_axil_wdata;
  pins.s_axil_wstrb = &card.s_axil_wstrb;
  pins.s_axil_wvalid = &card.s_axil_wvalid;
  pins.s_axil_wready = &card.s_axil_wready;
  pins.s_axil_bresp = &card.s_axil_bresp;
  pins.s_axil_bvalid = &card.s_axil_bvalid;
  pins.s_axil_bready = &card.s_axil_bready;
  pins.s_axil_araddr = bytes(card.s_axil_araddr);
  pins.s_axil_arvalid = &card.s_axil_arvalid;
  pins.s_axil_arready = &card.s_axil_arready;
  pins.s_axil_rdata = &card.s_axil_rdata;
  pins.s_axil_rresp = &card.s_axil_rresp;
  pins.s_axil_rvalid = &card.s_axil_rvalid;
  pins.s_axil_rready = &card.s_axil_rready;

  pins.m_axi_awid = &card.m_axi_awid;
  pins.m_axi_awaddr = &card.m_axi_awaddr;
  pins.m_axi_awlen = &card.m_axi_awlen;
  pins.m_axi_awsize = &card.m_axi_awsize;
  pins.m_axi_awburst = &card.m_axi_awburst;
  pins.m_axi_awuser = &card.m_axi_awuser;
  pins.m_axi_awvalid = &card.m_axi_awvalid;
  pins.m_axi_awready = &card.m_axi_awready;
  pins.m_axi_wdata = bytes(card.m_axi_wdata);
  pins.m_axi_wstrb = bytes(card.m_axi_wstrb);
  pins.m_axi_wlast = &card.m_axi_wlast;
  pins.m_axi_wvalid = &card.m_axi_wvalid;
  pins.m_axi_wready = &card.m_axi_wready;
  pins.m_axi_bid = &card.m_axi_bid;
  pins.m_axi_bresp = &card.m_axi_bresp;
  pins.m_axi_bvalid = &card.m_axi_bvalid;
  pins.m_axi_bready = &card.m_axi_bready;
  pins.m_axi_arid = &card.m_axi_arid;
  pins.m_axi_araddr = &card.m_axi_araddr;
  pins.m_axi_arlen = &card.m_axi_arlen;
  pins.m_axi_arsize = &card.m_axi_arsize;
  pins.m_axi_arburst = &card.m_axi_arburst;
  pins.m_axi_aruser = &card.m_axi_aruser;
  pins.m_axi_arvalid = &card.m_axi_arvalid;
  pins.m_axi_arready = &card.m_axi_arready;
  pins.m_axi_rid = &card.m_axi_rid;
  pins.m_axi_rdata = bytes(card.m_axi_rdata);
  pins.m_axi_rresp = &card.m_axi_rresp;
  pins.m_axi_rlast = &card.m_axi_rlast;
  pins.m_axi_rvalid = &card.m_axi_rvalid;
  pins.m_axi_rready = &card.m_axi_rready;

  pins.irq_valid = &card.irq_valid;
  pins.irq_ready = &card.irq_ready;
  pins.irq_function = &card.irq_function;
  pins.irq_vector = &card.irq_vector;
  pins.idle = &card.idle;
  add_console(pins, card);
  return pins;
}

void* create(Pins* pins) {
  try {
    auto model = std::make_unique<Model>();
    *pins = pins_of(model->card);
    return model.release();
  } catch (const std::exception&) {
    return nullptr;
  }
}

void destroy(void* model) {
  Verilated::threadContextp(&of(model).context);  // out of which the model's scopes take themselves
  delete &of(model);
}

const char* evaluate(void* model) {
  return guarded(of(model).stopped, [&] { of(model).evaluate(); });
}

const char* open_trace([[maybe_unused]] void* model, [[maybe_unused]] const char* path) {
#if VM_TRACE
  return guarded(of(model).stopped, [&] {
    Model& traced = of(model);
    traced.context.traceEverOn(true);
    traced.context.timeunit(-12);
    traced.context.timeprecision(-12);
    traced.trace = std::make_unique<VerilatedFstC>();
    traced.card.trace(traced.trace.get(), 99);
    traced.trace->open(path);
  });
#else
  return "this model was built without tracing";
#endif
}

const char* evaluate_traced(void* model, [[maybe_unused]] uint64_t time_ps) {
#if VM_TRACE
  return guarded(of(model).stopped, [&] {
    of(model).context.time(time_ps);
    of(model).evaluate();
    of(model).trace->dump(time_ps);
  });
#else
  return evaluate(model);
#endif
}

const char* fill_slot(void* model, uint32_t number, const SlotTable* slot) {
  return guarded(of(model).stopped, [&] {
    const auto found = of(model).slots.find(number);
    if (found == of(model).slots.end()) {
      throw headrace::Stopped("the card has no accelerator slot " + std::to_string(number));
    }
    if (slot == nullptr) {
      found->second.empty();
    } else {
      found->second.fill(*slot);
    }
  });
}

}  // namespace

// What sim/slot/rpu_slot.sv calls. A slot's number is the last index in its place in the model.
extern "C" {

void* hr_slot_make() {
  const std::string place = svGetNameFromScope(svGetScope());
  const size_t index = place.rfind('[');
  return &making->slots[index == std::string::npos ? 0 : static_cast<uint32_t>(std::stoul(place.substr(index + 1)))];
}

svBit hr_slot_sleeps(void* slot, unsigned char flags) {
  return static_cast<Slot*>(slot)->sleeps(flags);
}

unsigned char hr_slot_step(void* slot, unsigned char flags, unsigned addr, unsigned wdata, unsigned char wstrb,
                           unsigned load_addr, unsigned load_data, const svBitVecVal* tdata, const svBitVecVal* tkeep,
                           unsigned* rdata, unsigned long long* job) {
  SlotOutputs outputs{};
  static_cast<Slot*>(slot)->step({tdata, tkeep, addr, wdata, load_addr, load_data, wstrb, flags}, outputs);
  *rdata = outputs.reg_rdata;
  *job = outputs.job;
  return outputs.flags;
}
}

#ifdef HR_GATHERS
// Of clang's runtime for profiles; where this variable is, it writes none by itself.
extern "C" {
int __llvm_profile_runtime = 0;                      // NOLINT(bugprone-reserved-identifier)
void __llvm_profile_set_filename(const char* path);  // NOLINT(bugprone-reserved-identifier)
int __llvm_profile_write_file();                     // NOLINT(bugprone-reserved-identifier)
}

// Writes what has been counted so far; gives 0 where that worked.
extern "C" __attribute__((visibility("default"))) int hr_write_profile(const char* path) {
  __llvm_profile_set_filename(path);
  return __llvm_profile_write_file();
}
#endif

extern "C" __attribute__((visibility("default"))) const ModelTable* hr_get_model() {
  static constexpr ModelTable kTable{ModelTable::kVersion, HR_PORTS,        HR_DATA_W, HR_MEM_W, HR_ADDRESS_W,
                                     HR_TX_USER_W,         VM_TRACE,        create,    destroy,  evaluate,
                                     open_trace,           evaluate_traced, fill_slot};
  return &kTable;
}
