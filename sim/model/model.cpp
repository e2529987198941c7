// SPDX-License-Identifier: Apache-2.0
// A card's model as the harness takes it: the one file that is compiled with each card.
#include <verilated.h>

#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#if VM_TRACE
#include <verilated_fst_c.h>
#endif

#include "Vcard.h"
#include "model/table.h"

namespace {

using headrace::ModelTable;
using headrace::Pins;

// Thrown where the model stops itself.
class Stopped : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

[[noreturn]] void stop(const char* file, int line, const std::string& what) {
  const std::string place =
      file != nullptr && file[0] != '\0' ? " (" + std::string(file) + ":" + std::to_string(line) + ")" : "";
  throw Stopped("the model stopped: " + what + place);
}

struct Model {
  VerilatedContext context;
  Vcard card{&context};
#if VM_TRACE
  std::unique_ptr<VerilatedFstC> trace;

  ~Model() {
    if (trace) trace->close();
  }
#endif
  std::string stopped;
};

Model& of(void* model) {
  return *static_cast<Model*>(model);
}

template <class Action>
const char* guarded(Model& model, Action&& action) {
  try {
    action();
    return nullptr;
  } catch (const std::exception& error) {
    model.stopped = error.what();
    return model.stopped.c_str();
  }
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
  delete &of(model);
}

const char* evaluate(void* model) {
  return guarded(of(model), [&] { of(model).card.eval(); });
}

const char* open_trace([[maybe_unused]] void* model, [[maybe_unused]] const char* path) {
#if VM_TRACE
  return guarded(of(model), [&] {
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
  return guarded(of(model), [&] {
    of(model).context.time(time_ps);
    of(model).card.eval();
    of(model).trace->dump(time_ps);
  });
#else
  return evaluate(model);
#endif
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const ModelTable* hr_get_model() {
  static constexpr ModelTable kTable{ModelTable::kVersion, HR_PORTS,       HR_DATA_W, HR_MEM_W, HR_ADDRESS_W,
                                     HR_TX_USER_W,         VM_TRACE,       create,    destroy,  evaluate,
                                     open_trace,           evaluate_traced};
  return &kTable;
}

// What happens when the model stops itself: the run ends with an error instead of the process.

void vl_finish(const char* file, int line, const char*) {
  stop(file, line, "$finish");
}

void vl_stop(const char* file, int line, const char*) {
  stop(file, line, "$stop or a failed assertion");
}

void vl_fatal(const char* file, int line, const char*, const char* message) {
  stop(file, line, message);
}
