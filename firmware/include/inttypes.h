// SPDX-License-Identifier: Apache-2.0
// Of the C library's inttypes.h, the types.
#ifndef HEADRACE_INTTYPES_H
#define HEADRACE_INTTYPES_H

#include <stdint.h>

#endif
