// SPDX-License-Identifier: Apache-2.0
#include "links/interface.h"

#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

namespace headrace {
namespace {

ifreq request_for(const std::string& name) {
  ifreq request{};
  name.copy(request.ifr_name, IFNAMSIZ - 1);
  return request;
}

}  // namespace

Interface::Interface(const std::string& name) : name_(name), any_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {}

bool Interface::up() const {
  ifreq request = request_for(name_);
  return ::ioctl(any_.number(), SIOCGIFFLAGS, &request) == 0 && (request.ifr_flags & IFF_UP) != 0;
}

std::string Interface::why_down() const {
  if (up()) return "";
  ethtool_channels channels{};
  return ask(channels) == ENODEV ? "the interface has gone" : "the interface is down";
}

uint32_t Interface::receive_queues() const {
  ethtool_channels channels{};
  if (ask(channels) != 0) return 1;
  return std::max(1u, channels.rx_count + channels.combined_count);
}

// Gives 0 or an errno. Ethtool's requests take the lock that interfaces are changed under.
int Interface::ask(ethtool_channels& channels) const {
  channels.cmd = ETHTOOL_GCHANNELS;
  ifreq request = request_for(name_);
  request.ifr_data = reinterpret_cast<char*>(&channels);
  return ::ioctl(any_.number(), SIOCETHTOOL, &request) == 0 ? 0 : errno;
}

uint32_t Interface::mtu() const {
  ifreq request = request_for(name_);
  return ::ioctl(any_.number(), SIOCGIFMTU, &request) == 0 ? static_cast<uint32_t>(request.ifr_mtu) : 0;
}

int Interface::set_up() const {
  ifreq request = request_for(name_);
  if (::ioctl(any_.number(), SIOCGIFFLAGS, &request) != 0) return errno;
  request.ifr_flags |= IFF_UP;
  return ::ioctl(any_.number(), SIOCSIFFLAGS, &request) == 0 ? 0 : errno;
}

int Interface::set_mtu(uint32_t mtu) const {
  ifreq request = request_for(name_);
  request.ifr_mtu = static_cast<int>(mtu);
  return ::ioctl(any_.number(), SIOCSIFMTU, &request) == 0 ? 0 : errno;
}

int Interface::set_queue_length(uint32_t frames) const {
  ifreq request = request_for(name_);
  request.ifr_qlen = static_cast<int>(frames);
  return ::ioctl(any_.number(), SIOCSIFTXQLEN, &request) == 0 ? 0 : errno;
}

}  // namespace headrace
