#include "xdp_receiver.h"

#include <net/if.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "error.h"
#include "live_source.h"
#include "xdp_program.h"
#include "xdp_socket.h"

namespace headrace {
namespace {

constexpr uint32_t kMostQueues = 4096;
constexpr int64_t kClockSet = 100'000'000;  // ns: a difference that grows by so much was not only read late

}  // namespace

XdpReceiver::XdpReceiver(const InterfaceLink& link, uint8_t* memory, size_t size)
    : shown_(link.shown), interface_(link.name), memory_(memory) {
  const unsigned index = ::if_nametoindex(link.name.c_str());
  if (index == 0) throw Error(HR_ERROR_FILE, shown_ + ": no such interface");
  if (!interface_.up()) throw Error(HR_ERROR_FILE, shown_ + ": the interface is down");
  const uint32_t queues = interface_.receive_queues();
  const auto chosen = link.settings.number("queue", 0, kMostQueues - 1);
  if (chosen && *chosen >= queues) {
    link.settings.refuse("queue", link.name + " has receive queues 0 to " + std::to_string(queues - 1));
  }
  const uint32_t first = static_cast<uint32_t>(chosen.value_or(0));
  const uint32_t count = chosen ? 1 : queues;
  part_ = size / count / XdpSocket::kChunk * XdpSocket::kChunk;
  if (part_ == 0) {
    throw Error(HR_ERROR_USAGE, shown_ + ": needs at least " + std::to_string(count * XdpSocket::kChunk) +
                                    " bytes of memory: " + std::to_string(XdpSocket::kChunk) + " a queue");
  }

  program_ = std::make_unique<XdpProgram>(shown_, link.settings.text("program"), first + count);
  any_ = Descriptor(::epoll_create1(EPOLL_CLOEXEC));
  for (uint32_t n = 0; n < count; ++n) {
    sockets_.push_back(std::make_unique<XdpSocket>(shown_, link.name, first + n, memory + n * part_, part_));
    const int socket = sockets_.back()->descriptor();
    program_->redirect(first + n, socket);
    epoll_event event{.events = EPOLLIN, .data = {}};
    if (::epoll_ctl(any_.number(), EPOLL_CTL_ADD, socket, &event) != 0) {
      throw Error(HR_ERROR_FILE, shown_ + ": " + std::strerror(errno));
    }
  }
  began_ns_ = LiveSource::clock_ns(CLOCK_MONOTONIC);
  day_ns_ = day_now();
  for (int again = 0; again < 4; ++again) day_ns_ = std::min(day_ns_, day_now());
  program_->attach(index);
}

XdpReceiver::~XdpReceiver() = default;

bool XdpReceiver::receive(XdpPacket& packet) {
  for (size_t tried = 0; tried < sockets_.size(); ++tried) {
    uint8_t* data;
    if (sockets_[turn_]->receive(data, packet.length)) {
      packet.data = data;
      packet.time_ns = time_of(data);
      return true;
    }
    turn_ = turn_ + 1 == sockets_.size() ? 0 : turn_ + 1;
  }
  return false;
}

void XdpReceiver::release(const uint8_t* data) {
  sockets_[static_cast<size_t>(data - memory_) / part_]->release(data);
}

void XdpReceiver::stop() {
  program_->detach();
  stopped_ = true;
}

// The program may have left the time at which it saw the packet in 8 bytes before it; what lies there otherwise is no
// time since the beginning. A stamp is wiped out, so that a later packet in the same memory doesn't seem to have it.
//
// Stamps become times of day by one difference of the clocks, so that packets keep their order: a difference that is
// read anew has an error, as long as what comes between its two readings. Only when the clock was set it changes.
uint64_t XdpReceiver::time_of(uint8_t* data) {
  uint64_t stamp;
  std::memcpy(&stamp, data - sizeof stamp, sizeof stamp);
  std::memset(data - sizeof stamp, 0, sizeof stamp);
  const int64_t day = day_now();
  if (std::abs(day - day_ns_) > kClockSet) day_ns_ = day;
  const uint64_t now = LiveSource::clock_ns(CLOCK_MONOTONIC);
  return static_cast<uint64_t>(day_ns_) + (stamp < began_ns_ || stamp > now ? now : stamp);
}

int64_t XdpReceiver::day_now() {
  const uint64_t now = LiveSource::clock_ns(CLOCK_MONOTONIC);
  return static_cast<int64_t>(LiveSource::clock_ns(CLOCK_REALTIME) - now);
}

uint64_t XdpReceiver::dropped() const {
  uint64_t total = 0;
  for (const auto& socket : sockets_) total += socket->dropped();
  return total;
}

std::string XdpReceiver::fault() const {
  for (const auto& socket : sockets_) {
    const int error = socket->error();
    if (error != 0) return error == ENETDOWN ? "the interface has gone" : std::strerror(error);
  }
  return interface_.up() ? "" : "the interface is down";
}

}  // namespace headrace
