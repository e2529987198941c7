// SPDX-License-Identifier: Apache-2.0
// A load balancer for servers behind port 1: TCP and UDP packets to ADDRESS from port 0 get the address of one of
// SERVERS servers, which have consecutive addresses from FIRST on, by the client's address and port; what the servers
// answer gets ADDRESS as its source. So a connection stays with its server, whichever unit has its packets. Checksums
// are kept right (RFC 1624). All other packets go to the other port as they are. Hosts on both sides must send to the
// other side by routes, as through any router; MAC addresses are not changed.
#include "headrace.h"
#include "packet_headers.h"

#ifndef ADDRESS
#define ADDRESS 0xC6336450 // 198.51.100.80
#endif
#ifndef FIRST
#define FIRST 0x0A000001 // 10.0.0.1
#endif
#ifndef SERVERS
#define SERVERS 4
#endif
_Static_assert(SERVERS >= 1 && SERVERS <= 256, "SERVERS: 1 to 256");

// As they are in packets, with what putting one in the other's place adds to a sum
static struct {
  unsigned int address;
  unsigned int there, back;
} servers[SERVERS];

union words {
  unsigned int word;
  unsigned short halves[2];
};

// A sum of half words, whose carries are added to it; through memory instead of shifts by 16
static inline unsigned int fold(unsigned int sum) {
  union words parts = {.word = sum};
  __asm__("" : "+m"(parts));
  parts.word = (unsigned int)parts.halves[0] + parts.halves[1];
  __asm__("" : "+m"(parts));
  return (unsigned int)parts.halves[0] + parts.halves[1];
}

static unsigned int difference(unsigned int from, unsigned int to) {
  union words old = {.word = ~from}, new = {.word = to};
  return fold((unsigned int)old.halves[0] + old.halves[1] + new.halves[0] + new.halves[1]);
}

static inline void correct(unsigned short *sum, unsigned int change) {
  unsigned int mask;
  __asm__("li %0, 0xFFFF" : "=r"(mask));
  *sum = (unsigned short)~fold((~(unsigned int)*sum & mask) + change);
}

static void rewrite(unsigned char *packet, struct ipv4_header *ip, unsigned int change) {
  correct(&ip->hdr_sum, change);
  if (ip->flags_fragment_offset & bswap_16(0x1FFF)) return; // the checksum is in the first piece
  unsigned char *behind = packet + ETH_HEADER_SIZE + IPV4_HEADER_SIZE;
  if (ip->protocol == IP_PROTO_TCP) {
    correct(&((struct tcp_header *)behind)->checksum, change);
  } else {
    struct udp_header *udp = (struct udp_header *)behind;
    if (udp->checksum == 0) return; // it has none
    correct(&udp->checksum, change);
    if (udp->checksum == 0) udp->checksum = 0xFFFF;
  }
}

static void balance(unsigned char *packet, unsigned int port) {
  struct ipv4_header *ip = (struct ipv4_header *)(packet + ETH_HEADER_SIZE);
  if (*(unsigned short *)(packet + 12) != ETH_TYPE_IPV4 || ip->version_ihl != 0x45) return;
  if (ip->protocol != IP_PROTO_TCP && ip->protocol != IP_PROTO_UDP) return;
  if (port == PORT_ETH0 && ip->dest_ip == bswap_32(ADDRESS)) {
    // A fragment has no port but in its first piece: fragments go by the address alone.
    unsigned int key = *(unsigned short *)(packet + 26) + *(unsigned short *)(packet + 28);
    if (!(ip->flags_fragment_offset & bswap_16(0x3FFF))) key += *(unsigned short *)(packet + 34);
    union words parts = {.word = key};
    unsigned int number = ((unsigned char *)&parts)[0] + ((unsigned char *)&parts)[1];
    number = SERVERS & (SERVERS - 1) ? number % SERVERS : number & (SERVERS - 1);
    ip->dest_ip = servers[number].address;
    rewrite(packet, ip, servers[number].there);
  } else if (port == PORT_ETH1) {
    unsigned int number = load_be32(&ip->src_ip) - FIRST;
    if (number >= SERVERS) return;
    ip->src_ip = bswap_32(ADDRESS);
    rewrite(packet, ip, servers[number].back);
  }
}

int main(void) {
  for (unsigned int i = 0; i < SERVERS; i++) {
    servers[i].address = bswap_32(FIRST + i);
    servers[i].there = difference(bswap_32(ADDRESS), servers[i].address);
    servers[i].back = difference(servers[i].address, bswap_32(ADDRESS));
  }
  init_hdr_slots(16, 0x804000, 128);
  init_slots(16, 2, 16384);
  set_masks(FLAG_EVICT | FLAG_POKE);
  while (1) {
    if (in_pkt_ready()) {
      struct Desc desc;
      read_in_pkt(&desc);
      balance(desc.data, desc.port);
      desc.port ^= 1;
      pkt_send(&desc);
    }
  }
}
