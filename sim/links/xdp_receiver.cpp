// SPDX-License-Identifier: Apache-2.0
#include "links/xdp_receiver.h"

#include <net/if.h>
#include <sys/epoll.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "error.h"
#include "links/live_source.h"
#include "links/xdp_program.h"
#include "links/xdp_socket.h"

namespace headrace {
namespace {

constexpr uint32_t kMostQueues = 4096;
constexpr uint32_t kPage = 4096;
constexpr uint32_t kChunk = 2048;           // a standard frame and the kernel's headroom
constexpr uint32_t kHeaders = 14 + 2 * 4;   // of Ethernet, with VLAN tags
constexpr int64_t kClockSet = 100'000'000;  // ns: a difference that grows by so much was not only read late

// Packets in several chunks came with Linux 6.6.
bool takes_pieces() {
  utsname kernel;
  int major = 0, minor = 0;
  if (::uname(&kernel) != 0 || std::sscanf(kernel.release, "%d.%d", &major, &minor) != 2) return false;
  return major > 6 || (major == 6 && minor >= 6);
}

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
  part_ = size / count / kPage * kPage;
  if (part_ == 0) {
    throw Error(HR_ERROR_USAGE, shown_ + ": needs at least " + std::to_string(count * kPage) +
                                    " bytes of memory: " + std::to_string(kPage) + " a queue");
  }
  const bool pieces = takes_pieces();
  const uint32_t chunk = pieces ? kChunk : kPage;
  if (!pieces) require_short_packets(chunk - XdpSocket::kHeadroom);

  program_ = std::make_unique<XdpProgram>(shown_, link.settings.text("program"), first + count, pieces);
  any_ = Descriptor(::epoll_create1(EPOLL_CLOEXEC));
  for (uint32_t n = 0; n < count; ++n) {
    sockets_.push_back(
        std::make_unique<XdpSocket>(shown_, link.name, first + n, memory + n * part_, part_, chunk, pieces));
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

// Without pieces, a longer packet is lost, for its owner too.
void XdpReceiver::require_short_packets(uint32_t longest) const {
  const uint32_t mtu = interface_.mtu();
  if (mtu + kHeaders <= longest) return;
  throw Error(HR_ERROR_FILE, shown_ + ": packets of more than " + std::to_string(longest) +
                                 " bytes take Linux 6.6, and the interface has an MTU of " + std::to_string(mtu));
}

bool XdpReceiver::receive(XdpPacket& packet) {
  for (size_t tried = 0; tried < sockets_.size(); ++tried) {
    XdpSocket::Piece piece;
    if (sockets_[turn_]->receive(piece)) {
      packet = {piece.data, piece.length, time_of(piece.data), piece.more};
      if (packet.joined) join(*sockets_[turn_], packet);
      return true;
    }
    turn_ = turn_ + 1 == sockets_.size() ? 0 : turn_ + 1;
  }
  return false;
}

// The kernel hands over all pieces of a packet at once.
void XdpReceiver::join(XdpSocket& socket, XdpPacket& packet) {
  joined_.assign(packet.data, packet.data + packet.length);
  socket.release(packet.data);
  XdpSocket::Piece piece{nullptr, 0, true};
  while (piece.more) {
    if (!socket.receive(piece)) continue;
    joined_.insert(joined_.end(), piece.data, piece.data + piece.length);
    socket.release(piece.data);
  }
  packet.data = joined_.data();
  packet.length = static_cast<uint32_t>(joined_.size());
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

uint64_t XdpReceiver::waiting() const {
  uint64_t total = 0;
  for (const auto& socket : sockets_) total += socket->waiting();
  return total;
}

std::string XdpReceiver::fault() const {
  for (const auto& socket : sockets_) {
    const int error = socket->error();
    if (error != 0) return error == ENETDOWN ? "the interface has gone" : std::strerror(error);
  }
  return interface_.why_down();
}

}  // namespace headrace
