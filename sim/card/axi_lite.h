// SPDX-License-Identifier: Apache-2.0
// The host's side of the register bus (AXI4-Lite): one read at a time, writes one after the other without waiting.
#pragma once

#include <optional>
#include <span>

#include "card/model.h"
#include "headrace.h"

namespace headrace {

class AxiLite {
 public:
  explicit AxiLite(const Model& model)
      : pins_(model.pins()),
        awaddr_(pins_.s_axil_awaddr, model.sizes().address_bits),
        araddr_(pins_.s_axil_araddr, model.sizes().address_bits) {
    *pins_.s_axil_wstrb = 0xf;
  }

  void begin(std::span<const hr_register_write> writes) {
    writes_ = writes;
    addresses_ = data_ = responses_ = 0;
    refused_.reset();
  }

  void begin_read(uint32_t address) {
    read_address_ = address;
    reading_ = true;
    asked_ = false;
    refused_.reset();
  }

  bool busy() const { return reading_ || responses_ < writes_.size(); }
  uint32_t value() const { return value_; }
  size_t answered() const { return responses_; }

  // The address of the first access that the card answered with an error.
  std::optional<uint32_t> refused() const { return refused_; }

  // Gives up on accesses that are not answered.
  void abandon() {
    reading_ = false;
    writes_ = {};
    addresses_ = data_ = responses_ = 0;
  }

  void drive() {
    if (!busy() && !driven_) return;
    driven_ = busy();
    const bool address_goes = addresses_ < writes_.size() && addresses_ - responses_ < kOutstanding;
    *pins_.s_axil_awvalid = address_goes;
    if (address_goes) awaddr_.set(writes_[addresses_].address);
    const bool data_goes = data_ < writes_.size() && data_ - responses_ < kOutstanding;
    *pins_.s_axil_wvalid = data_goes;
    if (data_goes) *pins_.s_axil_wdata = writes_[data_].value;
    *pins_.s_axil_bready = responses_ < writes_.size();
    *pins_.s_axil_arvalid = reading_ && !asked_;
    if (reading_) araddr_.set(read_address_);
    *pins_.s_axil_rready = reading_ && asked_;
  }

  void sample() {
    if (!driven_) return;
    if (*pins_.s_axil_awvalid && *pins_.s_axil_awready) ++addresses_;
    if (*pins_.s_axil_wvalid && *pins_.s_axil_wready) ++data_;
    if (*pins_.s_axil_bvalid && *pins_.s_axil_bready) {
      if (*pins_.s_axil_bresp != 0 && !refused_) refused_ = writes_[responses_].address;
      ++responses_;
    }
    if (*pins_.s_axil_rvalid && *pins_.s_axil_rready) {
      reading_ = false;
      value_ = *pins_.s_axil_rdata;
      if (*pins_.s_axil_rresp != 0) refused_ = read_address_;
    } else if (*pins_.s_axil_arvalid && *pins_.s_axil_arready) {
      asked_ = true;
    }
  }

 private:
  static constexpr size_t kOutstanding = 8;

  const Pins pins_;
  WordIn awaddr_;
  WordIn araddr_;
  std::span<const hr_register_write> writes_;
  size_t addresses_ = 0;  // writes whose address, data and response are through
  size_t data_ = 0;
  size_t responses_ = 0;
  bool reading_ = false;
  bool asked_ = false;
  bool driven_ = false;  // something may be on the bus
  uint32_t read_address_ = 0;
  uint32_t value_ = 0;
  std::optional<uint32_t> refused_;
};

}  // namespace headrace
