// SPDX-License-Identifier: Apache-2.0
// What is loaded into a card's accelerator slots while it runs: libraries, which are unloaded again.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "model/slot_table.h"

namespace headrace {

class Model;

class Slots {
 public:
  // Throw Error: there is no such slot, or the library is none for it. What was in the slot stays then.
  void load(Model& model, uint32_t number, const std::string& library);
  void unload(Model& model, uint32_t number);

 private:
  struct Close {
    void operator()(void* handle) const;
  };
  using Library = std::unique_ptr<void, Close>;

  static void fill(Model& model, uint32_t number, const SlotTable* table);

  std::map<uint32_t, Library> loaded_;
};

}  // namespace headrace
