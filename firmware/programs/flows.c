// SPDX-License-Identifier: Apache-2.0
// Counts packets and bytes of each TCP and UDP flow over IPv4, and forwards all packets to the other port. The host
// reads `flows` in packet memory; each unit has those flows that the balancer gives to it. A flow that finds its places
// taken is counted in none (`crowded`).
#include "headrace.h"
#include "packet_headers.h"

#ifndef ENTRIES
#define ENTRIES 8192 // a power of two
#endif
#define WAYS 4 // places that a flow may have

struct flow {
  unsigned int src_ip, dest_ip; // as in the packet, and so are ports
  unsigned int ports;           // source, destination
  unsigned int protocol;        // 0: the entry is free
  unsigned int packets;
  unsigned int bytes; // of frames
  unsigned int first, last; // times, in units of 4 ns
};

IN_PACKET_MEMORY struct flow flows[ENTRIES];
unsigned int crowded;

// Bytes of the words, mixed without shifts: they go through memory.
static unsigned int place_of(unsigned int words) {
  union {
    unsigned int word;
    unsigned short halves[2];
    unsigned char bytes[4];
  } mixed = {.word = words};
  __asm__("" : "+m"(mixed));
  return (mixed.halves[0] + mixed.halves[1] + 251u * mixed.bytes[1] + 13u * mixed.bytes[3]) & (ENTRIES - 1);
}

static void count(const unsigned char *header, unsigned int length) {
  const struct ipv4_header *ip = (const struct ipv4_header *)(header + ETH_HEADER_SIZE);
  unsigned int protocol = ip->protocol;
  if (*(const unsigned short *)(header + 12) != ETH_TYPE_IPV4 || ip->version_ihl != 0x45) return;
  if (protocol != IP_PROTO_TCP && protocol != IP_PROTO_UDP) return;
  if (ip->flags_fragment_offset & bswap_16(0x1FFF)) return; // has no ports
  unsigned int source = ip->src_ip, destination = ip->dest_ip, ports = *(const unsigned int *)(ip + 1);
  unsigned int place = place_of(source + destination + ports);
  unsigned int now = read_timer_low();
  for (unsigned int way = 0; way < WAYS; way++) {
    struct flow *flow = &flows[(place + way) & (ENTRIES - 1)];
    if (flow->protocol == 0) {
      *flow = (struct flow){source, destination, ports, protocol, 0, 0, now, now};
    } else if (flow->src_ip != source || flow->dest_ip != destination || flow->ports != ports ||
               flow->protocol != protocol) {
      continue;
    }
    flow->packets++;
    flow->bytes += length;
    flow->last = now;
    return;
  }
  crowded++;
}

int main(void) {
  init_hdr_slots(16, 0x804000, 128);
  init_slots(16, 2, 16384);
  set_masks(FLAG_EVICT | FLAG_POKE);
  while (1) {
    unsigned int low = headrace_wait();
    const unsigned char *header = (const unsigned char *)RECV_HEADER;
    unsigned int high = RECV_HIGH_POP;
    RPU_BARRIER();
    count(header, desc_len(low));
    SEND_LOW = low ^ DESC_PORT(1);
    SEND_HIGH_GO = high;
  }
}
