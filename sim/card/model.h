// SPDX-License-Identifier: Apache-2.0
// A card's model, loaded from its library: any number of models of any cards live in one process.
#pragma once

#include <bit>
#include <cstring>
#include <string>

#include "error.h"
#include "model/table.h"

namespace headrace {

static_assert(std::endian::native == std::endian::little, "the harness reads the model's wide signals in place");

class Model {
 public:
  // Throws Error when the library can't be loaded or is no model.
  explicit Model(const std::string& library);
  ~Model() { table_.destroy(model_); }
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  const ModelTable& sizes() const { return table_; }
  const Pins& pins() const { return pins_; }

  // Throw Error when the model stops: it can't go on then.
  void evaluate() { check(table_.evaluate(model_)); }
  void open_trace(const char* path) { check(table_.open_trace(model_, path)); }
  void evaluate_traced(uint64_t time_ps) { check(table_.evaluate_traced(model_, time_ps)); }

  // Gives nullptr, or why it can't be done.
  const char* fill_slot(uint32_t number, const SlotTable* slot) { return table_.fill_slot(model_, number, slot); }

 private:
  static void check(const char* stopped) {
    if (stopped != nullptr) throw Error(HR_ERROR_MODEL, stopped);
  }

  const ModelTable& table_;
  Pins pins_{};
  void* model_;
};

// A signal of up to 64 bits whose width depends on the card.
template <class Byte>
class Word {
 public:
  Word(Byte* at, unsigned bits) : at_(at), bytes_(bits <= 8 ? 1 : bits <= 16 ? 2 : bits <= 32 ? 4 : 8) {}

  uint64_t get() const {
    switch (bytes_) {
      case 1:
        return *at_;
      case 2:
        return load<uint16_t>();
      case 4:
        return load<uint32_t>();
      default:
        return load<uint64_t>();
    }
  }

  void set(uint64_t value) const {
    switch (bytes_) {
      case 1:
        *at_ = static_cast<Byte>(value);
        break;
      case 2:
        std::memcpy(at_, &value, 2);
        break;
      case 4:
        std::memcpy(at_, &value, 4);
        break;
      default:
        std::memcpy(at_, &value, 8);
    }
  }

 private:
  template <class T>
  T load() const {
    T value;
    std::memcpy(&value, at_, sizeof value);
    return value;
  }

  Byte* at_;
  unsigned bytes_;
};

using WordIn = Word<uint8_t>;
using WordOut = Word<const uint8_t>;

}  // namespace headrace
