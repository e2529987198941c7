// SPDX-License-Identifier: Apache-2.0
#include "links/iface_sink.h"

#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "error.h"

namespace headrace {

IfaceSink::IfaceSink(const InterfaceLink& link)
    : LiveSink(link.shown), socket_(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0)) {
  if (!socket_.valid()) {
    const bool forbidden = errno == EPERM || errno == EACCES;
    const std::string why = forbidden ? "not permitted: to send takes root or CAP_NET_RAW" : std::strerror(errno);
    throw Error(HR_ERROR_FILE, shown() + ": " + why);
  }
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_ifindex = static_cast<int>(::if_nametoindex(link.name.c_str()));
  if (address.sll_ifindex == 0) {
    const bool all = link.name == "any";
    throw Error(HR_ERROR_FILE, shown() + (all ? ": can't send by all interfaces: name one" : ": no such interface"));
  }
  if (::bind(socket_.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    throw Error(HR_ERROR_FILE, shown() + ": " + std::strerror(errno));
  }
}

int IfaceSink::send(std::span<const uint8_t> frame) {
  while (::send(socket_.number(), frame.data(), frame.size(), 0) < 0) {
    if (errno != EINTR) return errno;
  }
  return 0;
}

// Down, gone, longer than its MTU, its queue full.
bool IfaceSink::loses(int error) const {
  return error == ENETDOWN || error == ENXIO || error == ENODEV || error == EMSGSIZE || error == ENOBUFS;
}

}  // namespace headrace
