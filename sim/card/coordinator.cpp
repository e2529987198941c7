// SPDX-License-Identifier: Apache-2.0
#include "card/coordinator.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>

namespace headrace {
namespace {

constexpr uint64_t kAlone = 1'000'000'000;  // a window of cards that no cable joins, in ns

}  // namespace

void Coordinator::add(Card& card) {
  if (std::find(cards_.begin(), cards_.end(), &card) != cards_.end()) {
    throw Error(HR_ERROR_USAGE, "the coordinator has this card already");
  }
  if (!cards_.empty() && card.time_ns() != cards_.front()->time_ns()) {
    throw Error(HR_ERROR_USAGE, "cards that are joined must have the same time: " + std::to_string(card.time_ns()) +
                                    " ns and " + std::to_string(cards_.front()->time_ns()) + " ns");
  }
  cards_.push_back(&card);
}

void Coordinator::connect(Card& from, uint32_t port, Card& to, uint32_t to_port, uint64_t delay_ns) {
  for (Card* card : {&from, &to}) {
    if (std::find(cards_.begin(), cards_.end(), card) == cards_.end()) {
      throw Error(HR_ERROR_USAGE, "the coordinator doesn't have this card");
    }
  }
  if (delay_ns == 0) throw Error(HR_ERROR_USAGE, "a cable's delay is at least 1 ns");
  auto cable = std::make_shared<Cable>(delay_ns);
  to.attach_cable_end(to_port, std::make_unique<CableSource>(cable));
  from.attach_cable(port, cable);
  joints_.push_back({std::move(cable), &to, to_port});
}

uint64_t Coordinator::next_event_ns() const {
  uint64_t next = UINT64_MAX;
  for (const Card* card : cards_) next = std::min(next, card->next_event_ns());
  return next;
}

int Coordinator::run(uint64_t until_ns, bool until_idle, unsigned threads, std::chrono::milliseconds slice) {
  for (Card* card : cards_) card->begin_run();
  const int reason = run_windows(until_ns, until_idle, threads, slice);
  for (Card* card : cards_) card->end_run();
  return reason;
}

int Coordinator::run_windows(uint64_t until_ns, bool until_idle, unsigned threads, std::chrono::milliseconds slice) {
  const auto start = std::chrono::steady_clock::now();
  uint64_t window = kAlone;
  for (const Joint& joint : joints_) window = std::min(window, joint.cable->delay_ns());
  uint64_t now = 0;
  for (const Card* card : cards_) now = std::max(now, card->time_ns());
  while (now < until_ns) {
    const uint64_t next = std::max(next_event_ns(), now);
    if (next == UINT64_MAX) {
      if (until_idle) return HR_STOP_IDLE;
      if (until_ns == UINT64_MAX) throw Error(HR_ERROR_USAGE, "nothing to run for: all cards are idle");
    }
    if (slice.count() != 0 && std::chrono::steady_clock::now() - start >= slice) return HR_STOP_SLICE;
    now = next >= until_ns || until_ns - next <= window ? until_ns : next + window;
    advance(now, until_idle, threads);
    carry();
  }
  return HR_STOP_CYCLES;
}

// All cards up to a time, each on one thread.
void Coordinator::advance(uint64_t until_ns, bool until_idle, unsigned threads) {
  std::atomic<size_t> next = 0;
  std::vector<std::exception_ptr> failures(cards_.size());
  const auto work = [&] {
    for (size_t n = next++; n < cards_.size(); n = next++) {
      try {
        cards_[n]->advance(until_ns, until_idle);
      } catch (...) {
        failures[n] = std::current_exception();
      }
    }
  };
  {
    std::vector<std::jthread> helpers;
    for (size_t n = 1; n < std::min<size_t>(threads, cards_.size()); ++n) helpers.emplace_back(work);
    work();
  }
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

void Coordinator::carry() {
  for (const Joint& joint : joints_) {
    joint.cable->carry(joint.to->flow_control(joint.to_port));
    joint.to->wake(joint.to_port);
  }
}

}  // namespace headrace
