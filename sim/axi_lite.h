// The host's side of the register bus (AXI4-Lite): one read at a time, writes one after the other without waiting.
#pragma once

#include <optional>
#include <span>

#include "headrace.h"

namespace headrace {

template <class Model>
class AxiLite {
 public:
  explicit AxiLite(Model& model) : model_(model) { model_.s_axil_wstrb = 0xf; }

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
    model_.s_axil_awvalid = address_goes;
    if (address_goes) model_.s_axil_awaddr = static_cast<uint16_t>(writes_[addresses_].address);
    const bool data_goes = data_ < writes_.size() && data_ - responses_ < kOutstanding;
    model_.s_axil_wvalid = data_goes;
    if (data_goes) model_.s_axil_wdata = writes_[data_].value;
    model_.s_axil_bready = responses_ < writes_.size();
    model_.s_axil_arvalid = reading_ && !asked_;
    if (reading_) model_.s_axil_araddr = static_cast<uint16_t>(read_address_);
    model_.s_axil_rready = reading_ && asked_;
  }

  void sample() {
    if (!driven_) return;
    if (model_.s_axil_awvalid && model_.s_axil_awready) ++addresses_;
    if (model_.s_axil_wvalid && model_.s_axil_wready) ++data_;
    if (model_.s_axil_bvalid && model_.s_axil_bready) {
      if (model_.s_axil_bresp != 0 && !refused_) refused_ = writes_[responses_].address;
      ++responses_;
    }
    if (model_.s_axil_rvalid && model_.s_axil_rready) {
      reading_ = false;
      value_ = model_.s_axil_rdata;
      if (model_.s_axil_rresp != 0) refused_ = read_address_;
    } else if (model_.s_axil_arvalid && model_.s_axil_arready) {
      asked_ = true;
    }
  }

 private:
  static constexpr size_t kOutstanding = 8;

  Model& model_;
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
