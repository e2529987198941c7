// SPDX-License-Identifier: Apache-2.0
// Steps cards that cables join. All run through windows of time that are as long as the shortest cable's delay: what a
// card sends within one can reach another only after it, so that cards run at the same time on several threads and the
// result is the same on any number of them. Time in which no card has anything to do is one window.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "card/card.h"
#include "wire/cable.h"

namespace headrace {

class Coordinator {
 public:
  // Throws Error when the card is there already, or its clock tells another time than the others'.
  void add(Card& card);
  // Throws Error when there is no such card, port or delay.
  void connect(Card& from, uint32_t port, Card& to, uint32_t to_port, uint64_t delay_ns);

  // Gives HR_STOP_IDLE, _CYCLES (it is until_ns, UINT64_MAX: no limit) or _SLICE. Throws the error of the first card
  // that has one.
  int run(uint64_t until_ns, bool until_idle, unsigned threads, std::chrono::milliseconds slice);

 private:
  struct Joint {
    std::shared_ptr<Cable> cable;
    Card* to;
    uint32_t to_port;
  };

  int run_windows(uint64_t until_ns, bool until_idle, unsigned threads, std::chrono::milliseconds slice);
  void advance(uint64_t until_ns, bool until_idle, unsigned threads);
  void carry();
  uint64_t next_event_ns() const;

  std::vector<Card*> cards_;
  std::vector<Joint> joints_;
};

}  // namespace headrace
