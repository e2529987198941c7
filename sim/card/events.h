// SPDX-License-Identifier: Apache-2.0
// Interrupts and doorbells as eventfds, as VFIO, vhost and KVM know them: other processes are told, and tell the card.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "headrace.h"
#include "links/descriptor.h"

namespace headrace {

// Interrupts that go to eventfds, by function and vector.
class BoundInterrupts {
 public:
  // Throw Error when the descriptor is no eventfd, or the interrupt is bound already; or isn't.
  void bind(uint16_t function, uint16_t vector, int descriptor);
  void unbind(uint16_t function, uint16_t vector);

  // Adds 1 to the eventfd, after all that the card has written before; false: the interrupt is not bound.
  bool raise(uint16_t function, uint16_t vector);

 private:
  std::map<std::pair<uint16_t, uint16_t>, Descriptor> bound_;
};

// Eventfds of which a signal is a write to a register.
class BoundDoorbells {
 public:
  // Throw Error when the descriptor is no eventfd, or is bound already; or isn't.
  void bind(int descriptor, hr_register_write write);
  void unbind(int descriptor);

  bool empty() const { return bound_.empty(); }
  // Becomes readable when one is signalled.
  int descriptor() const { return watch_.number(); }
  // Takes the signals: the writes that they are, several of a doorbell as one, are put behind the others.
  void take(std::vector<hr_register_write>& writes);

 private:
  struct Doorbell {
    Descriptor event;
    hr_register_write write;
  };

  std::map<int, Doorbell> bound_;  // by the descriptor's number when it was bound
  Descriptor watch_;               // epoll, of all of them
};

}  // namespace headrace
