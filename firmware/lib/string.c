// SPDX-License-Identifier: Apache-2.0
// The functions that GCC calls for copies and comparisons of memory.
#include "string.h"

static int aligned(const void *a, const void *b) { return (((unsigned long)a | (unsigned long)b) & 3) == 0; }

__attribute__((optimize("no-tree-loop-distribute-patterns"))) void *memcpy(void *restrict to, const void *restrict from,
                                                                           size_t size) {
  unsigned char *target = to;
  const unsigned char *source = from;
  if (aligned(to, from)) {
    for (; size >= 4; size -= 4, target += 4, source += 4) *(unsigned int *)target = *(const unsigned int *)source;
  }
  while (size--) *target++ = *source++;
  return to;
}

__attribute__((optimize("no-tree-loop-distribute-patterns"))) void *memmove(void *to, const void *from, size_t size) {
  unsigned char *target = to;
  const unsigned char *source = from;
  if (target <= source || target >= source + size) return memcpy(to, from, size);
  while (size--) target[size] = source[size];
  return to;
}

__attribute__((optimize("no-tree-loop-distribute-patterns"))) void *memset(void *to, int value, size_t size) {
  unsigned char *target = to;
  unsigned int word = (unsigned char)value;
  if (aligned(to, to) && size >= 4) {
    word |= word << 8;
    word |= word << 16;
    for (; size >= 4; size -= 4, target += 4) *(unsigned int *)target = word;
  }
  while (size--) *target++ = (unsigned char)value;
  return to;
}

int memcmp(const void *left, const void *right, size_t size) {
  const unsigned char *a = left, *b = right;
  for (; size != 0; size--, a++, b++) {
    if (*a != *b) return *a - *b;
  }
  return 0;
}

size_t strlen(const char *text) {
  const char *end = text;
  __asm__ volatile("" : "+r"(end)); // or GCC makes a call of strlen of this loop
  while (*end) end++;
  return (size_t)(end - text);
}
