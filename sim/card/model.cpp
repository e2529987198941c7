// SPDX-License-Identifier: Apache-2.0
#include "card/model.h"

#include <dlfcn.h>

namespace headrace {
namespace {

// Libraries stay loaded: a model that is opened again costs nothing.
const ModelTable& load(const std::string& library) {
  void* handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr)
    throw Error(HR_ERROR_FILE,
                std::string("can't load the model: ") + ::dlerror() + "; headrace cache --clear removes it");
  const auto get_model = reinterpret_cast<GetModel*>(::dlsym(handle, "hr_get_model"));
  if (get_model == nullptr) throw Error(HR_ERROR_FILE, library + " is not a card's model");
  const ModelTable& table = *get_model();
  if (table.version != ModelTable::kVersion) {
    throw Error(HR_ERROR_FILE, library + " is the model of another version of Headrace");
  }
  return table;
}

}  // namespace

Model::Model(const std::string& library) : table_(load(library)), model_(table_.create(&pins_)) {
  if (model_ == nullptr) throw Error(HR_ERROR_MODEL, "the model can't be made: there is no memory for it");
}

}  // namespace headrace
