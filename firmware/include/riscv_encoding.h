// SPDX-License-Identifier: Apache-2.0
// Control and status registers of RISC-V (The RISC-V Instruction Set Manual, volume II), as far as the core has them.
#ifndef RISCV_CSR_ENCODING_H
#define RISCV_CSR_ENCODING_H

#define MSTATUS_MIE  0x00000008
#define MSTATUS_MPIE 0x00000080
#define MSTATUS_MPP  0x00001800

#define IRQ_M_SOFT  3
#define IRQ_M_TIMER 7
#define IRQ_M_EXT   11

#define MIP_MSIP (1 << IRQ_M_SOFT)
#define MIP_MTIP (1 << IRQ_M_TIMER)
#define MIP_MEIP (1 << IRQ_M_EXT)

#define MCAUSE32_CAUSE 0x7FFFFFFF
#define MCAUSE32_INT   0x80000000
#define MCAUSE_CAUSE   MCAUSE32_CAUSE
#define MCAUSE_INT     MCAUSE32_INT

// Causes of exceptions
#define CAUSE_MISALIGNED_FETCH    0
#define CAUSE_FETCH_ACCESS        1
#define CAUSE_ILLEGAL_INSTRUCTION 2
#define CAUSE_BREAKPOINT          3
#define CAUSE_MISALIGNED_LOAD     4
#define CAUSE_LOAD_ACCESS         5
#define CAUSE_MISALIGNED_STORE    6
#define CAUSE_STORE_ACCESS        7
#define CAUSE_MACHINE_ECALL       11

#ifndef __ASSEMBLER__

#define read_csr(reg)                                          \
  ({                                                           \
    unsigned long csr_value_;                                  \
    __asm__ volatile("csrr %0, " #reg : "=r"(csr_value_));     \
    csr_value_;                                                \
  })

// The constraint K is an immediate of five bits: GCC takes a register where the value is none.
#define write_csr(reg, val) ({ __asm__ volatile("csrw " #reg ", %0" ::"rK"((unsigned long)(val)) : "memory"); })

#define RISCV_EXCHANGE_CSR_(instruction, reg, val)                                                                   \
  ({                                                                                                                 \
    unsigned long csr_value_;                                                                                        \
    __asm__ volatile(instruction " %0, " #reg ", %1" : "=r"(csr_value_) : "rK"((unsigned long)(val)) : "memory");    \
    csr_value_;                                                                                                      \
  })

#define swap_csr(reg, val)  RISCV_EXCHANGE_CSR_("csrrw", reg, val)
#define set_csr(reg, bit)   RISCV_EXCHANGE_CSR_("csrrs", reg, bit)
#define clear_csr(reg, bit) RISCV_EXCHANGE_CSR_("csrrc", reg, bit)

#define rdcycle()   read_csr(mcycle)
#define rdinstret() read_csr(minstret)

#endif
#endif
