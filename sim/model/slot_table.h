// SPDX-License-Identifier: Apache-2.0
// What a card's model and what is loaded into one of its accelerator slots know of each other: the latter is a shared
// library with one function, hr_get_slot(), that gives a table. No exception goes through it.
#pragma once

#include <cstdint>

namespace headrace {

// The inputs of a slot as they are before a clock edge: those of rpu_slot.
struct SlotInputs {
  enum Flag : uint8_t {
    kLast = 1,
    kRegWrite = 2,
    kStreamValid = 4,
    kJobReady = 8,
    kLoadValid = 16,
    kRegValid = 32,
    kReset = 64,
  };

  const uint32_t* tdata;
  const uint32_t* tkeep;
  uint32_t reg_addr;
  uint32_t reg_wdata;
  uint32_t load_addr;
  uint32_t load_data;
  uint8_t reg_wstrb;
  uint8_t flags;

  bool has(Flag flag) const { return (flags & flag) != 0; }
};

// And the outputs behind it.
struct SlotOutputs {
  uint64_t job;
  uint32_t reg_rdata;
  uint8_t flags;  // from bit 0: idle, interrupt, tready, job_valid, reg_rvalid, reg_ready, present
};

struct SlotTable {
  static constexpr uint32_t kVersion = 1;  // of this file: raise it with every change

  uint32_t version;
  uint32_t data_bits;

  void* (*create)();  // nullptr: there is no memory for it
  void (*destroy)(void* slot);
  // One clock cycle; gives nullptr, or in one line why the model stopped. `settled`: no cycle to come would change
  // anything, as long as nothing comes in and reset and job_ready stay as they are.
  const char* (*step)(void* slot, const SlotInputs* inputs, SlotOutputs* outputs, bool* settled);
};

using GetSlot = const SlotTable*();

}  // namespace headrace
