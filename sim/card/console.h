// SPDX-License-Identifier: Apache-2.0
// A card's console: bytes that its cores write and read, and what they are connected to.
//
// Output is never held up. Input is offered byte by byte; one that no core takes doesn't keep the card from being idle.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "headrace.h"
#include "links/descriptor.h"
#include "links/record_file.h"
#include "model/table.h"

namespace headrace {

class Console {
 public:
  explicit Console(const Pins& pins);

  // Whether the card has one.
  bool there() const { return pins_.console_tx_valid != nullptr; }

  // Throws Error when the card has no console, or the links are wrong or can't be opened: all is as it was then.
  void attach(const hr_console& request);
  // The pseudo-terminal's path, or nothing.
  const std::string& terminal() const { return to_.name; }
  // Bytes that a pseudo-terminal had no room for: nobody reads it.
  uint64_t lost() const { return lost_; }

  // Input by hand. Throws Error when the card has no console.
  void write(uint32_t core, std::span<const uint8_t> bytes);
  // Takes what a core has written to the link "memory"; gives the number of bytes.
  size_t read(uint32_t core, std::span<uint8_t> bytes);

  // Around each evaluation of the model of a card that has one. sample() gives whether a byte went either way.
  void drive();
  bool sample();

  // What becomes readable when there is input, while all that came before has been taken; -1: there will be none.
  int waits_for() const { return waiting_.empty() ? to_.input.number() : -1; }
  // Takes the input that is there; false: there is none. Throws Error when it can't be read.
  bool fetch();
  void stop() { to_.input.close(); }

  // Throw Error when the file can't be written.
  void flush();
  void close();

 private:
  struct Connection {
    std::unique_ptr<RecordFile> file;
    Descriptor terminal;
    Descriptor line;  // its other end, kept open so that programs may come and go
    std::string name;
    Descriptor input;
    std::string input_name;
    uint8_t input_core = 0;
    bool keeps = false;  // the link "memory"
    bool prefix = false;
  };

  struct Byte {
    uint8_t core;
    uint8_t value;
  };

  static Connection connect(const hr_console& request);
  static void open_terminal(Connection& to);
  void check() const;
  void take(Byte byte);
  void put(std::string_view text);
  void put_line(unsigned core);

  const Pins pins_;
  Connection to_;
  std::array<std::string, 256> kept_;  // of each core: what it wrote, or its line that has not ended
  std::string unsent_;                 // for the terminal
  uint64_t lost_ = 0;
  std::deque<Byte> waiting_;  // input
};

}  // namespace headrace
