// SPDX-License-Identifier: Apache-2.0
// Sends UDP packets of SIZE bytes to PORT, COUNT of them (0: without an end), and drops what comes. The unit's number
// is the last byte of the source address, and the packet's number in this unit the first 4 bytes of the payload.
#include "headrace.h"
#include "packet_headers.h"
#include "checksum.h"

#ifndef SIZE
#define SIZE 60
#endif
#ifndef COUNT
#define COUNT 0
#endif
#ifndef PORT
#define PORT PORT_ETH0
#endif

#define HEADERS (ETH_HEADER_SIZE + IPV4_HEADER_SIZE + UDP_HEADER_SIZE) // 42
_Static_assert(SIZE >= HEADERS + 4 && SIZE <= 9600, "SIZE: 46 to 9,600 bytes");

#define BUFFERS 48 // more than can be on their way
#define STEP 8192u

struct headers {
  struct eth_header eth;
  struct ipv4_header ip;
  struct udp_header udp;
} __attribute__((packed, aligned(2)));

// What is behind the number is not set, and buffers of packets that are longer than STEP share it.
IN_PACKET_MEMORY_UNSET static _Alignas(64) unsigned char buffers[(BUFFERS - 1) * STEP + 16384];

static void make(struct headers *packet) {
  static const struct headers kind = {
      .eth = {.dest_mac = {2, 0, 0, 0, 0, 2}, .src_mac = {2, 0, 0, 0, 0, 1}, .type = ETH_TYPE_IPV4},
      .ip = {.version_ihl = 0x45,
             .total_length = bswap_16(SIZE - ETH_HEADER_SIZE),
             .ttl = 64,
             .protocol = IP_PROTO_UDP,
             .src_ip = bswap_32(0xC0000200),
             .dest_ip = bswap_32(0xC6336401)},
      .udp = {.src_port = bswap_16(9), .dest_port = bswap_16(9), .length = bswap_16(SIZE - HEADERS + UDP_HEADER_SIZE)},
  };
  struct headers made = kind;
  made.eth.src_mac[4] = (unsigned char)core_id();
  ((unsigned char *)&made.ip.src_ip)[3] = (unsigned char)core_id();
  made.ip.hdr_sum = checksum(&made.ip, IPV4_HEADER_SIZE, 0);
  *packet = made;
}

static void drop_received(void) {
  unsigned int low = RECV_LOW;
  if (__builtin_expect(low == 0, 1)) return;
  SEND_LOW = desc_drop(low);
  SEND_HIGH_GO = RECV_HIGH_POP;
}

int main(void) {
  init_hdr_slots(16, 0x804000, 128);
  init_slots(16, 0, 16384);
  set_masks(FLAG_EVICT | FLAG_POKE);
  unsigned char *const end = buffers + BUFFERS * STEP;
  for (unsigned char *place = buffers + 2; place < end; place += STEP) make((struct headers *)place);

  unsigned char *place = buffers + 2;
  for (unsigned int number = 0; COUNT == 0 || number != COUNT; number++) {
    *(unsigned int *)(place + HEADERS) = load_be32(&number);
    SEND_LOW = DESC_PORT(PORT) | SIZE;
    RPU_BARRIER();
    SEND_HIGH_GO = (unsigned int)place;
    place += STEP;
    if (place >= end) place = buffers + 2;
    drop_received();
  }
  while (1) drop_received();
}
