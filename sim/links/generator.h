// SPDX-License-Identifier: Apache-2.0
// Makes frames: "gen:size=60-1514,count=1000,rate=10G,seed=1,frame=udp,sport=100,...".
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "links/link_settings.h"
#include "links/source.h"

namespace headrace {

class Generator : public Source {
 public:
  // Throws Error when the specification is wrong.
  explicit Generator(const std::string& specification);

  Next next(RxFrame& frame) override;

  // Bits per second, if the specification has a rate.
  std::optional<uint64_t> rate() const { return rate_; }

 private:
  enum class Kind { kUdp, kTcp, kRaw };

  uint64_t random();
  uint32_t draw_size();
  void make_headers(const LinkSettings& settings);
  void fill_headers(uint32_t size);

  Kind kind_ = Kind::kUdp;
  bool imix_ = false;
  uint32_t size_min_ = 60;
  uint32_t size_max_ = 60;
  std::optional<uint64_t> count_;
  std::optional<uint64_t> rate_;
  std::array<uint64_t, 4> state_{};
  std::vector<uint8_t> headers_;
  std::vector<uint8_t> payload_;
  std::vector<uint8_t> frame_;
  uint64_t made_ = 0;
};

// "100G", "2.5G", "10M", "9600": bits per second. Throws Error.
uint64_t parse_rate(const std::string& text);

}  // namespace headrace
