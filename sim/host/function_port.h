// SPDX-License-Identifier: Apache-2.0
// A host's network driver for one virtual function of the card: what a source gives goes into the function's transmit
// queue, what comes in its receive queue is delivered. It acts in no time, when the card interrupts or the source has
// frames.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "error.h"
#include "headrace.h"
#include "host/virtqueue.h"
#include "links/source.h"
#include "memory/host_memory.h"
#include "wire/pacing.h"

namespace headrace {

class FunctionPort {
 public:
  static constexpr uint32_t kHeader = 12;  // virtio-net's, before each frame

  // Maps and fills the queues' memory, and takes it away in the end. Throws Error when it can't be mapped.
  FunctionPort(HostMemory& memory, const hr_function& request, hr_port_stats& stats);
  ~FunctionPort();
  FunctionPort(const FunctionPort&) = delete;
  FunctionPort& operator=(const FunctionPort&) = delete;

  bool offloads() const { return request_.offload != 0; }
  uint16_t function() const { return static_cast<uint16_t>(request_.function); }
  VirtqueuePlaces places(bool receive) const { return (receive ? receive_ : transmit_).places(); }
  bool owns(uint16_t function, uint16_t vector) const {
    return function == request_.function && (vector == request_.transmit_vector || vector == request_.receive_vector);
  }

  // As a MAC's: the source's frames, `packets` at most.
  void attach(Source* source, Pacing pacing, uint64_t packets);
  void detach();
  void end() { ended_ = true; }
  bool offering() const { return loaded_; }
  // Whether the source may have a frame later.
  bool waiting() const { return !ended_ && !loaded_; }
  void wake(Cycle now);

  // When there is something to do that nobody else tells; kNever: there isn't.
  Cycle due() const { return due_; }
  // The card has interrupted.
  void call() { due_ = 0; }

  // Does what is due. Doorbells are added to `bells`; deliver(frame) gets what was received.
  template <class Deliver>
  void serve(Cycle now, std::vector<hr_register_write>& bells, Deliver&& deliver) {
    uint32_t refilled = 0;
    try {
      while (const auto used = receive_.take()) {
        if (used->bytes > kHeader) deliver(receive_.buffer(used->buffer).subspan(kHeader, used->bytes - kHeader));
        receive_.add(request_.buffer_bytes);
        ++refilled;
      }
      while (transmit_.take()) continue;
    } catch (const Error& error) {
      throw Error(error.code(), "function " + std::to_string(request_.function) + ": " + error.what());
    }
    if (refilled != 0 && receive_.wants_doorbell()) bells.push_back(request_.receive_bell);
    if (send(now) && transmit_.wants_doorbell()) bells.push_back(request_.transmit_bell);
  }

 private:
  bool send(Cycle now);
  void fetch();

  HostMemory& memory_;
  const hr_function request_;
  hr_port_stats& stats_;
  std::shared_ptr<uint8_t> bytes_;
  Virtqueue transmit_;
  Virtqueue receive_;
  Source* source_ = nullptr;
  Pacing pacing_ = Pacing::line();
  uint64_t packets_left_ = 0;
  bool ended_ = true;
  bool loaded_ = false;  // frame_ waits for its time, or for a buffer
  RxFrame frame_;
  Cycle earliest_ = 0;  // when frame_ may go
  Cycle due_ = kNever;
};

}  // namespace headrace
