// SPDX-License-Identifier: Apache-2.0
// Measures how long packets are on their way: sends probes of SIZE bytes to PORT, one every INTERVAL units of 4 ns,
// with the time in them, and looks for those of its own among what comes. Other packets go to the other port.
// The host reads `latency` in data memory; times are in units of 4 ns.
#include "headrace.h"

#ifndef SIZE
#define SIZE 60
#endif
#ifndef PORT
#define PORT PORT_ETH0
#endif
#ifndef INTERVAL
#define INTERVAL 2500 // 10 us
#endif
_Static_assert(SIZE >= 32 && SIZE <= 8192, "SIZE: 32 to 8,192 bytes");

#define BUCKETS 256
#define BUCKET 8 // units of time

struct {
  unsigned int sent, received;
  unsigned int least, most, last;
  unsigned int total_low, total_high;
  unsigned int later; // than the last bucket
  unsigned int buckets[BUCKETS];
} latency = {.least = 0xFFFFFFFF};

// Behind the Ethernet header
struct probe {
  unsigned int mark;
  unsigned int unit;
  unsigned int number;
  unsigned int sent;
};
#define MARK 0x48525052
#define PROBES 16
#define STEP 8192u

IN_PACKET_MEMORY_UNSET static _Alignas(64) unsigned char probes[PROBES * STEP];

static void make(unsigned char *packet) {
  for (unsigned int i = 0; i < SIZE; i++) packet[i] = 0;
  for (unsigned int i = 0; i < 6; i++) packet[i] = 0xFF;
  packet[6] = 2;
  packet[11] = (unsigned char)core_id();
  *(unsigned short *)(packet + 12) = bswap_16(0x88B5); // for experiments
  struct probe *probe = (struct probe *)(packet + 14);
  probe->mark = MARK;
  probe->unit = core_id();
}

static void record(unsigned int time) {
  latency.received++;
  latency.last = time;
  if (time < latency.least) latency.least = time;
  if (time > latency.most) latency.most = time;
  latency.total_low += time;
  if (latency.total_low < time) latency.total_high++;
  unsigned int bucket = time / BUCKET;
  if (bucket < BUCKETS) {
    latency.buckets[bucket]++;
  } else {
    latency.later++;
  }
}

int main(void) {
  headrace_slots(16, 2);
  set_masks(FLAG_EVICT | FLAG_POKE);
  for (unsigned char *packet = probes; packet < probes + sizeof probes; packet += STEP) make(packet + 2);

  unsigned char *packet = probes + 2;
  unsigned int due = read_timer_low();
  while (1) {
    unsigned int low = RECV_LOW;
    unsigned int now = read_timer_low();
    if (low != 0) {
      const struct probe *probe = (const struct probe *)(RECV_HEADER + 14);
      unsigned int high = RECV_HIGH_POP;
      RPU_BARRIER();
      unsigned int own = probe->mark == MARK && probe->unit == core_id();
      SEND_LOW = own ? desc_drop(low) : low ^ DESC_PORT(1);
      unsigned int time = now - probe->sent;
      RPU_BARRIER();
      SEND_HIGH_GO = high;
      if (own) record(time);
    } else if ((int)(now - due) >= 0) {
      struct probe *probe = (struct probe *)(packet + 14);
      due += INTERVAL;
      probe->number = latency.sent++;
      SEND_LOW = DESC_PORT(PORT) | SIZE;
      probe->sent = read_timer_low();
      RPU_BARRIER();
      SEND_HIGH_GO = (unsigned int)packet;
      packet += STEP;
      if (packet >= probes + sizeof probes) packet = probes + 2;
    }
  }
}
