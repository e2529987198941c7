# SPDX-License-Identifier: Apache-2.0
"""The RISC-V processor of cards that have some: VexRiscv, as the PyPI package ``pythondata-cpu-vexriscv`` holds it.

It is the package's variant with 2 KB of instruction cache, no data cache, and a debug port with two hardware
breakpoints. The package puts a bridge to Wishbone before its data bus, which takes two cycles for each access.
``vexriscv`` takes the bridge's register out: an access is offered while its instruction is in the execute stage, and
data come a cycle later at the earliest. The data bus keeps the names of its ports; what they mean then:

==============  =======================================================================================================
``CYC, STB``    an access is offered; it may be taken back when the pipeline is flushed
``ACK``         it is taken in this cycle
``SEL``         the bytes that are written; of a read, its whole word
``RSP`` (new)   ``DAT_MISO`` has the data of the read that was taken last: in a later cycle than its ``ACK``
``ERR``         with ``RSP``: there are none, and the processor takes exception 5
==============  =======================================================================================================

An external interrupt is one as RISC-V has it: no mask of the package's own, CSR 0xBC0, stands before it.

Two outputs say where the processor is: ``pipeline_PC``, with ``pipeline_valid``, of the oldest instruction that is not
finished, and ``execute_stage_PC``, of the one that offers an access on the data bus.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from headrace import cache
from headrace.errors import HeadraceError

PROCESSOR = "vexriscv"
VARIANT = "VexRiscv_LiteDebugHwBP"
_ERROR_PORT = "  input               dBusWishbone_ERR,\n"
_RESET_PORT = "  output              debug_resetOut,\n"
_PUBLIC = "/* verilator public */"  # a model takes it for an input, and evaluates twice a cycle what reads it
_LAST_STAGE = "  assign lastStagePc = writeBack_PC;\n"
_CHANGES = {
    _ERROR_PORT: f"{_ERROR_PORT}  input               dBusWishbone_RSP,\n",
    _RESET_PORT: (
        f"{_RESET_PORT}  output     [31:0]   pipeline_PC,\n  output              pipeline_valid,\n"
        "  output     [31:0]   execute_stage_PC,\n"
    ),
    _LAST_STAGE: (
        f"{_LAST_STAGE}  assign execute_stage_PC = execute_PC;\n"
        "  assign pipeline_valid = writeBack_arbitration_isValid || memory_arbitration_isValid\n"
        "      || execute_arbitration_isValid;\n"
        "  assign pipeline_PC = writeBack_arbitration_isValid ? writeBack_PC\n"
        "      : memory_arbitration_isValid ? memory_PC : execute_PC;\n"
    ),
    "dBus_cmd_ready = (! dBus_cmd_rValid);": "dBus_cmd_ready = dBusWishbone_ACK;",
    "dBus_cmd_halfPipe_valid = dBus_cmd_rValid;": "dBus_cmd_halfPipe_valid = dBus_cmd_valid;",
    **{
        f"dBus_cmd_halfPipe_payload_{name} = dBus_cmd_rData_{name};": (
            f"dBus_cmd_halfPipe_payload_{name} = dBus_cmd_payload_{name};"
        )
        for name in ("wr", "address", "data", "size")
    },
    "dBus_rsp_ready = ((dBus_cmd_halfPipe_valid && (! dBusWishbone_WE)) && dBusWishbone_ACK);": (
        "dBus_rsp_ready = dBusWishbone_RSP;"
    ),
    "dBus_rsp_error = 1'b0;": "dBus_rsp_error = dBusWishbone_ERR;",
    "(_zz_CsrPlugin_csrMapping_readDataInit & externalInterruptArray_regNext);": "externalInterruptArray_regNext;",
}


def vexriscv() -> Path:
    """The processor's Verilog file, module ``VexRiscv``, in the cache. Raises HeadraceError when the installed package
    is not the one that Headrace knows."""
    from pythondata_cpu_vexriscv import data_location

    source = Path(data_location) / f"{VARIANT}.v"
    text = source.read_text()
    for old, new in _CHANGES.items():
        if text.count(old) != 1:
            raise HeadraceError(f"{source}: not the processor that Headrace knows: no single '{old.strip()}'")
        text = text.replace(old, new)
    text = text.replace(_PUBLIC, "")
    name = hashlib.sha256(text.encode()).hexdigest()[:16]
    target = cache.cache_folder("processor") / f"{VARIANT}-{name}.v"
    if not target.is_file():
        cache.write_atomically(target, text)
    return target
