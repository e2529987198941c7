// SPDX-License-Identifier: Apache-2.0
// From reset to main. The core starts at 0, where it sees what is linked for 0x02000000, and takes interrupts at 4.

  .section .headrace.vectors, "ax"
  .globl _start
  .weak _start
  .option push
  .option norelax
_start:
  j low
  j int_handler
low:                            // addresses relative to the program counter are wrong until it is where we are linked
  lui t0, %hi(reset)
  jr %lo(reset)(t0)
  .option pop

  .section .text.headrace.startup, "ax"
reset:
  .option push
  .option norelax
  la gp, __global_pointer$
  .option pop
  la sp, __stack_top
  la t0, __bss_start
  la t1, __bss_end
1:
  bgeu t0, t1, 2f
  sw zero, 0(t0)
  addi t0, t0, 4
  j 1b
2:
  lui t0, %hi(_start + 4)
  addi t0, t0, %lo(_start + 4)
  csrw mtvec, t0
  li t0, (1 << 11) | (1 << 7)   // external and timer interrupts; which flags cause one, the masks say
  csrw mie, t0
  csrsi mstatus, 8
  call main
3:
  j 3b                          // interrupts go on
