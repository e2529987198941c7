// SPDX-License-Identifier: Apache-2.0
// What is loaded into an accelerator slot of a card's model: the one file that is compiled with each accelerator.
#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "Vslot.h"
#include "Vslot__Syms.h"
#include "model/slot_table.h"
#include "model/stopping.h"

namespace {

using headrace::SlotInputs;
using headrace::SlotOutputs;
using headrace::SlotTable;

// Cycles in which nothing comes in before the state is looked at, at first and at most.
constexpr unsigned kPatience = 64;
constexpr unsigned kMostPatience = 1 << 16;

// Without threads of its own, which a library that is unloaded can't have.
struct Context : VerilatedContext {
  Context() { threads(1); }
};

struct Slot {
  Context context;
  Vslot model{&context};
  std::string stopped;
  std::vector<char> before;  // the state of the model
  uint8_t flags = 0;         // of the last step
  unsigned quiet = 0;        // cycles in which nothing has come in
  unsigned patience = kPatience;

  // All registers and memories of the model.
  const char* state() const { return reinterpret_cast<const char*>(model.rootp->vlSymsp); }

  void cycle(const SlotInputs& in) {
    model.rst = in.has(SlotInputs::kReset);
    model.job_ready = in.has(SlotInputs::kJobReady);
    model.reg_valid = in.has(SlotInputs::kRegValid);
    if (model.reg_valid) {
      model.reg_write = in.has(SlotInputs::kRegWrite);
      model.reg_addr = static_cast<uint16_t>(in.reg_addr);
      model.reg_wdata = in.reg_wdata;
      model.reg_wstrb = in.reg_wstrb;
    }
    model.load_valid = in.has(SlotInputs::kLoadValid);
    if (model.load_valid) {
      model.load_addr = in.load_addr;
      model.load_data = in.load_data;
    }
    model.s_axis_tvalid = in.has(SlotInputs::kStreamValid);
    if (model.s_axis_tvalid) {
      model.s_axis_tlast = in.has(SlotInputs::kLast);
      std::memcpy(&model.s_axis_tdata, in.tdata, sizeof model.s_axis_tdata);
      std::memcpy(&model.s_axis_tkeep, in.tkeep, sizeof model.s_axis_tkeep);
    }
    model.clk = 0;
    model.eval();
    model.clk = 1;
    model.eval();
  }

  // Whether a cycle leaves everything as it was: those to come do then, too.
  bool settles(const SlotInputs& in) {
    before.assign(state(), state() + sizeof(Vslot__Syms));
    cycle(in);
    return std::memcmp(before.data(), state(), sizeof(Vslot__Syms)) == 0;
  }

  bool step(const SlotInputs& in, SlotOutputs& out) {
    constexpr uint8_t kComes = SlotInputs::kRegValid | SlotInputs::kLoadValid | SlotInputs::kStreamValid;
    bool settled = false;
    if ((in.flags & kComes) != 0 || ((in.flags ^ flags) & (SlotInputs::kReset | SlotInputs::kJobReady)) != 0) {
      quiet = 0;
      patience = kPatience;
    }
    flags = in.flags;
    if (++quiet <= patience) {
      cycle(in);
    } else {
      settled = settles(in);
      quiet = 0;
      patience = std::min(2 * patience, kMostPatience);
    }
    out.job = model.job;
    out.reg_rdata = model.reg_rdata;
    out.flags = static_cast<uint8_t>(model.idle | model.irq << 1 | model.s_axis_tready << 2 | model.job_valid << 3 |
                                     model.reg_rvalid << 4 | model.reg_ready << 5 | model.present << 6);
    return settled;
  }
};

Slot& of(void* slot) {
  return *static_cast<Slot*>(slot);
}

void* create() {
  try {
    return std::make_unique<Slot>().release();
  } catch (const std::exception&) {
    return nullptr;
  }
}

void destroy(void* slot) {
  delete &of(slot);
}

const char* step(void* slot, const SlotInputs* inputs, SlotOutputs* outputs, bool* settled) {
  return headrace::guarded(of(slot).stopped, [&] { *settled = of(slot).step(*inputs, *outputs); });
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const SlotTable* hr_get_slot() {
  static constexpr SlotTable kTable{SlotTable::kVersion, HR_DATA_W, create, destroy, step};
  return &kTable;
}
