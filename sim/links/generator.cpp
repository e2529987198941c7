// SPDX-License-Identifier: Apache-2.0
#include "links/generator.h"

#include <cmath>
#include <cstdlib>
#include <cstring>

#include "error.h"

namespace headrace {
namespace {

constexpr uint32_t kLongest = 65535;
constexpr uint32_t kEthernetHeader = 14;
constexpr uint32_t kIpHeader = 20;
constexpr uint32_t kTcpHeader = 20;
constexpr uint32_t kUdpHeader = 8;
constexpr uint8_t kTcp = 6;
constexpr uint8_t kUdp = 17;

std::array<uint8_t, 4> ip_address(const LinkSettings& settings, const std::string& key, const std::string& value) {
  unsigned part[4];
  int used = 0;
  const int fields = std::sscanf(value.c_str(), "%3u.%3u.%3u.%3u%n", &part[0], &part[1], &part[2], &part[3], &used);
  std::array<uint8_t, 4> result{};
  for (int i = 0; i < 4; ++i) {
    if (fields != 4 || static_cast<size_t>(used) != value.size() || part[i] > 255) {
      settings.refuse(key, "must be an IPv4 address such as 10.0.0.1");
    }
    result[i] = static_cast<uint8_t>(part[i]);
  }
  return result;
}

void put16(uint8_t* at, uint32_t value) {
  at[0] = static_cast<uint8_t>(value >> 8);
  at[1] = static_cast<uint8_t>(value);
}

// Ones' complement sum of RFC 1071.
uint64_t sum16(const uint8_t* data, size_t size, uint64_t sum) {
  for (; size >= 2; data += 2, size -= 2) sum += uint32_t{data[0]} << 8 | data[1];
  return size == 0 ? sum : sum + (uint32_t{data[0]} << 8);
}

uint16_t checksum(uint64_t sum) {
  while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(~sum);
}

}  // namespace

uint64_t parse_rate(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  const std::string unit(end);
  double scale = 0;
  if (unit.empty()) scale = 1;
  if (unit == "k" || unit == "K") scale = 1e3;
  if (unit == "M") scale = 1e6;
  if (unit == "G") scale = 1e9;
  if (unit == "T") scale = 1e12;
  const double rate = value * scale;
  if (text.empty() || !(rate >= 1 && rate <= 1e13)) {
    throw Error(HR_ERROR_USAGE, "'" + text + "' is not a rate; write bits per second such as 100G, 2.5G or 10M");
  }
  return static_cast<uint64_t>(std::llround(rate));
}

Generator::Generator(const std::string& specification) {
  const LinkSettings settings("gen", specification,
                              {"size", "count", "rate", "seed", "frame", "src", "dst", "sport", "dport"});
  if (const std::string size = settings.text("size"); size == "imix") {
    imix_ = true;
    size_max_ = 1514;
  } else if (!size.empty()) {
    const size_t dash = size.find('-');
    const auto bytes = [&](const std::string& value) {
      return static_cast<uint32_t>(settings.number("size", value, 0, kLongest));
    };
    size_min_ = bytes(size.substr(0, dash));
    size_max_ = dash == std::string::npos ? size_min_ : bytes(size.substr(dash + 1));
    if (size_max_ < size_min_) settings.refuse("size", "the range is empty");
  }
  count_ = settings.number("count", 0, UINT64_MAX);
  if (settings.has("rate")) rate_ = parse_rate(settings.text("rate"));

  // splitmix64 fills the state of xoshiro256** (Blackman and Vigna, 2018).
  uint64_t seed = settings.number("seed", 0, UINT64_MAX).value_or(1);
  for (uint64_t& word : state_) {
    uint64_t z = (seed += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    word = z ^ (z >> 31);
  }
  payload_.resize(2 * size_max_ + 64);
  for (uint8_t& byte : payload_) byte = static_cast<uint8_t>(random() >> 32);
  make_headers(settings);
  frame_.resize(std::max<size_t>(size_max_, headers_.size()) + 8);
}

uint64_t Generator::random() {
  const auto rotate = [](uint64_t x, int by) { return (x << by) | (x >> (64 - by)); };
  const uint64_t result = rotate(state_[1] * 5, 7) * 9;
  const uint64_t shifted = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = rotate(state_[3], 45);
  return result;
}

uint32_t Generator::draw_size() {
  if (imix_) {
    const uint64_t ticket = random() % 12;  // 7 : 4 : 1
    return ticket < 7 ? 60 : ticket < 11 ? 590 : 1514;
  }
  if (size_min_ == size_max_) return size_min_;
  return size_min_ + static_cast<uint32_t>(random() % (size_max_ - size_min_ + 1));
}

void Generator::make_headers(const LinkSettings& settings) {
  const std::string kind = settings.text("frame", "udp");
  if (kind == "raw") {
    kind_ = Kind::kRaw;
    for (const char* key : {"src", "dst", "sport", "dport"}) {
      if (settings.has(key)) settings.refuse(key, "frame=raw has no such field");
    }
    return;
  }
  if (kind != "udp" && kind != "tcp") settings.refuse("frame", "must be udp, tcp or raw");
  kind_ = kind == "tcp" ? Kind::kTcp : Kind::kUdp;

  headers_.assign(kEthernetHeader + kIpHeader + (kind_ == Kind::kTcp ? kTcpHeader : kUdpHeader), 0);
  uint8_t* ethernet = headers_.data();
  const uint8_t addresses[12] = {2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1};
  std::memcpy(ethernet, addresses, sizeof addresses);
  put16(ethernet + 12, 0x0800);

  uint8_t* ip = ethernet + kEthernetHeader;
  ip[0] = 0x45;
  put16(ip + 6, 0x4000);  // don't fragment
  ip[8] = 64;
  ip[9] = kind_ == Kind::kTcp ? kTcp : kUdp;
  const auto source = ip_address(settings, "src", settings.text("src", "10.0.0.1"));
  const auto destination = ip_address(settings, "dst", settings.text("dst", "10.0.0.2"));
  std::memcpy(ip + 12, source.data(), 4);
  std::memcpy(ip + 16, destination.data(), 4);

  uint8_t* transport = ip + kIpHeader;
  put16(transport, static_cast<uint32_t>(settings.number("sport", 0, 65535).value_or(1024)));
  put16(transport + 2, static_cast<uint32_t>(settings.number("dport", 0, 65535).value_or(9)));
  if (kind_ == Kind::kTcp) {
    transport[12] = 5 << 4;
    transport[13] = 0x10;  // ACK
    put16(transport + 14, 65535);
  }
}

// Lengths, numbers and checksums that depend on the frame. A frame that is shorter than its headers is cut.
void Generator::fill_headers(uint32_t size) {
  std::memcpy(frame_.data(), headers_.data(), headers_.size());
  if (size < headers_.size()) return;
  const uint32_t ip_length = size - kEthernetHeader;
  uint8_t* ip = frame_.data() + kEthernetHeader;
  put16(ip + 2, ip_length);
  put16(ip + 4, static_cast<uint32_t>(made_ & 0xffff));
  put16(ip + 10, checksum(sum16(ip, kIpHeader, 0)));

  uint8_t* transport = ip + kIpHeader;
  const uint32_t transport_length = ip_length - kIpHeader;
  const uint64_t pseudo = sum16(ip + 12, 8, ip[9] + transport_length);
  if (kind_ == Kind::kTcp) {
    put16(transport + 4, static_cast<uint32_t>(made_ >> 16));
    put16(transport + 6, static_cast<uint32_t>(made_));
    put16(transport + 16, checksum(sum16(transport, transport_length, pseudo)));
  } else {
    put16(transport + 4, transport_length);
    const uint16_t sum = checksum(sum16(transport, transport_length, pseudo));
    put16(transport + 6, sum == 0 ? 0xffff : sum);
  }
}

Next Generator::next(RxFrame& frame) {
  if (count_ && made_ == *count_) return Next::kEnd;
  const uint32_t size = draw_size();
  if (size > headers_.size()) {
    const size_t start = random() % (payload_.size() - size);
    std::memcpy(frame_.data() + headers_.size(), payload_.data() + start, size - headers_.size());
  }
  if (!headers_.empty()) fill_headers(size);
  ++made_;
  frame = RxFrame{};
  frame.data = frame_.data();
  frame.length = size;
  return Next::kFrame;
}

}  // namespace headrace
