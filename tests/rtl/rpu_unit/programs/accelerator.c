// Writes and reads 16 registers of the accelerator, and tells the sum of what it read.
#include "headrace.h"

int main(void) {
  volatile unsigned int *registers = (volatile unsigned int *)IO_EXT_BASE;
  unsigned int sum = 0;
  for (int i = 0; i < 16; i++) registers[i] = 0x1000 + i;
  for (int i = 0; i < 16; i++) sum += registers[i];
  DEBUG_OUT_L = sum;
  while (1) continue;
}
