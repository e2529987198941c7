// SPDX-License-Identifier: Apache-2.0
#include "card/slots.h"

#include <dlfcn.h>

#include "card/model.h"
#include "error.h"

namespace headrace {

void Slots::Close::operator()(void* handle) const {
  ::dlclose(handle);
}

void Slots::load(Model& model, uint32_t number, const std::string& library) {
  Library opened(::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL));
  if (opened == nullptr) throw Error(HR_ERROR_FILE, std::string("can't load the accelerator: ") + ::dlerror());
  const auto get_slot = reinterpret_cast<GetSlot*>(::dlsym(opened.get(), "hr_get_slot"));
  if (get_slot == nullptr) throw Error(HR_ERROR_FILE, library + " is no accelerator");
  const SlotTable& table = *get_slot();
  if (table.version != SlotTable::kVersion) {
    throw Error(HR_ERROR_FILE, library + " is the accelerator of another version of Headrace");
  }
  if (table.data_bits != model.sizes().data_bits) {
    throw Error(HR_ERROR_USAGE, "the accelerator is one of " + std::to_string(table.data_bits) +
                                    " bits, the card's are of " + std::to_string(model.sizes().data_bits));
  }
  fill(model, number, &table);
  loaded_[number] = std::move(opened);
}

void Slots::unload(Model& model, uint32_t number) {
  fill(model, number, nullptr);
  loaded_.erase(number);
}

void Slots::fill(Model& model, uint32_t number, const SlotTable* table) {
  if (const char* trouble = model.fill_slot(number, table)) throw Error(HR_ERROR_USAGE, trouble);
}

}  // namespace headrace
