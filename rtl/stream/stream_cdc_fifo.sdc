# SPDX-License-Identifier: Apache-2.0
# Quartus: add to the project after the clocks' own constraints; it holds for every stream_cdc_fifo in the design.
# A Gray-coded pointer may take as long as it likes, but its bits must arrive within a cycle of the clock that sends it.
# A word is read from the memory only after its pointer has come over.
foreach {from to} {
    {*|wr_gray_q[*]} {*|cdc_sync:u_sync_wr|sync_q[0][*]}
    {*|rd_gray_q[*]} {*|cdc_sync:u_sync_rd|sync_q[0][*]}
} {
    set_false_path -from [get_registers $from] -to [get_registers $to]
    set_max_skew -from [get_registers $from] -to [get_registers $to] \
        -get_skew_value_from_clock_period src_clock_period -skew_value_multiplier 0.8
    set_net_delay -from [get_registers $from] -to [get_registers $to] -max \
        -get_value_from_clock_period dst_clock_period -value_multiplier 0.8
}
set_false_path -from [get_registers {*|ram_dist:u_ram|mem*}] -to [get_registers {*|stream_cdc_fifo:*|data_q[*]}]
