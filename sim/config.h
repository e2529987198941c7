// What the builder fixes when it compiles a card: sizes of the card's ports.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace headrace {

inline constexpr unsigned kPorts = HR_PORTS;
inline constexpr unsigned kBeatBytes = HR_DATA_W / 8;
inline constexpr unsigned kMemBytes = HR_MEM_W / 8;
inline constexpr unsigned kTxMetaBits = HR_TX_META_W;

// tx_meta_t, from its least significant bit on: timestamp_ns[64], wire_len[32], error, port[8], matched[P], lost[32],
// snaplen[P][16]. Only the number of programs P varies.
inline constexpr unsigned kFixedMetaBits = 64 + 32 + 1 + 8 + 32;
inline constexpr unsigned kPrograms = (kTxMetaBits - kFixedMetaBits) / 17;
inline constexpr unsigned kRxMetaBits = 33;

static_assert(kPorts >= 1 && kPorts <= 64, "a card has 1 to 64 Ethernet ports");
static_assert(HR_DATA_W % 8 == 0 && kBeatBytes >= 1, "DATA_W is a multiple of 8 bits");
static_assert(std::has_single_bit(kMemBytes) && kMemBytes >= 4, "MEM_W is 32 bits or a higher power of two");
static_assert(kTxMetaBits == kFixedMetaBits + 17 * kPrograms, "tx_tuser is tx_meta_t");
static_assert(std::endian::native == std::endian::little, "the harness reads the model's wide signals in place");

}  // namespace headrace
