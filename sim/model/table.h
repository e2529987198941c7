// SPDX-License-Identifier: Apache-2.0
// What the harness and a card's model know of each other: a model is a shared library with one function,
// hr_get_model(), that gives a table. No exception goes through it.
#pragma once

#include <cstdint>

#include "model/slot_table.h"

namespace headrace {

// Where the model's signals lie, each with its lowest byte first. Signals of all ports are one vector, port 0 lowest.
struct Pins {
  uint8_t* clk;
  uint8_t* rst;
  uint64_t* time_ns;
  uint64_t* wake_ns;  // nullptr: the card has none

  uint8_t* rx_tvalid;
  const uint8_t* rx_tready;
  uint8_t* rx_tdata;
  uint8_t* rx_tkeep;
  uint8_t* rx_tlast;
  uint8_t* rx_tuser;
  const uint8_t* tx_tvalid;
  uint8_t* tx_tready;
  const uint8_t* tx_tdata;
  const uint8_t* tx_tkeep;
  const uint8_t* tx_tlast;
  const uint8_t* tx_tuser;

  uint8_t* s_axil_awaddr;
  uint8_t* s_axil_awvalid;
  const uint8_t* s_axil_awready;
  uint32_t* s_axil_wdata;
  uint8_t* s_axil_wstrb;
  uint8_t* s_axil_wvalid;
  const uint8_t* s_axil_wready;
  const uint8_t* s_axil_bresp;
  const uint8_t* s_axil_bvalid;
  uint8_t* s_axil_bready;
  uint8_t* s_axil_araddr;
  uint8_t* s_axil_arvalid;
  const uint8_t* s_axil_arready;
  const uint32_t* s_axil_rdata;
  const uint8_t* s_axil_rresp;
  const uint8_t* s_axil_rvalid;
  uint8_t* s_axil_rready;

  const uint8_t* m_axi_awid;
  const uint64_t* m_axi_awaddr;
  const uint8_t* m_axi_awlen;
  const uint8_t* m_axi_awsize;
  const uint8_t* m_axi_awburst;
  const uint16_t* m_axi_awuser;
  const uint8_t* m_axi_awvalid;
  uint8_t* m_axi_awready;
  const uint8_t* m_axi_wdata;
  const uint8_t* m_axi_wstrb;
  const uint8_t* m_axi_wlast;
  const uint8_t* m_axi_wvalid;
  uint8_t* m_axi_wready;
  uint8_t* m_axi_bid;
  uint8_t* m_axi_bresp;
  uint8_t* m_axi_bvalid;
  const uint8_t* m_axi_bready;
  const uint8_t* m_axi_arid;
  const uint64_t* m_axi_araddr;
  const uint8_t* m_axi_arlen;
  const uint8_t* m_axi_arsize;
  const uint8_t* m_axi_arburst;
  const uint16_t* m_axi_aruser;
  const uint8_t* m_axi_arvalid;
  uint8_t* m_axi_arready;
  uint8_t* m_axi_rid;
  uint8_t* m_axi_rdata;
  uint8_t* m_axi_rresp;
  uint8_t* m_axi_rlast;
  uint8_t* m_axi_rvalid;
  const uint8_t* m_axi_rready;

  const uint8_t* irq_valid;
  uint8_t* irq_ready;
  const uint16_t* irq_function;
  const uint16_t* irq_vector;
  const uint8_t* idle;

  // A card may have no console: all are nullptr then.
  const uint8_t* console_tx_valid;
  uint8_t* console_tx_ready;
  const uint8_t* console_tx_data;
  const uint8_t* console_tx_core;
  uint8_t* console_rx_valid;
  const uint8_t* console_rx_ready;
  uint8_t* console_rx_data;
  uint8_t* console_rx_core;
};

inline constexpr unsigned kMostPorts = 64;

struct ModelTable {
  static constexpr uint32_t kVersion = 3;  // of this file: raise it with every change

  uint32_t version;
  // Sizes of the card's ports, in bits.
  uint32_t ports;
  uint32_t data_bits;
  uint32_t memory_bits;
  uint32_t address_bits;  // of registers
  uint32_t tx_user_bits;  // of one port
  uint32_t traceable;

  void* (*create)(Pins* pins);  // nullptr: there is no memory for it
  void (*destroy)(void* model);
  // All below give nullptr, or in one line why the model stopped: it can't go on then.
  const char* (*evaluate)(void* model);
  const char* (*open_trace)(void* model, const char* path);
  const char* (*evaluate_traced)(void* model, uint64_t time_ps);
  // Fills a slot, empties it before where it isn't, or (nullptr) leaves it empty.
  const char* (*fill_slot)(void* model, uint32_t number, const SlotTable* slot);
};

using GetModel = const ModelTable*();

}  // namespace headrace
