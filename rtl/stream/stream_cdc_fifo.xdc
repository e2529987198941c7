# SPDX-License-Identifier: Apache-2.0
# Vivado: read_xdc -ref stream_cdc_fifo rtl/stream/stream_cdc_fifo.xdc
# A Gray-coded pointer may take as long as it likes, but its bits must arrive within a cycle of the clock that sends it.
# A word is read from the memory only after its pointer has come over.
set s_period [get_property PERIOD [get_clocks -of_objects [get_ports s_clk]]]
set m_period [get_property PERIOD [get_clocks -of_objects [get_ports m_clk]]]
set_max_delay -datapath_only -from [get_cells wr_gray_q_reg[*]] -to [get_cells u_sync_wr/sync_q_reg[0][*]] $s_period
set_max_delay -datapath_only -from [get_cells rd_gray_q_reg[*]] -to [get_cells u_sync_rd/sync_q_reg[0][*]] $m_period
set_bus_skew -from [get_cells wr_gray_q_reg[*]] -to [get_cells u_sync_wr/sync_q_reg[0][*]] $s_period
set_bus_skew -from [get_cells rd_gray_q_reg[*]] -to [get_cells u_sync_rd/sync_q_reg[0][*]] $m_period
set_max_delay -datapath_only -from [get_cells -hierarchical -filter {NAME =~ */u_ram/mem_reg*}] \
    -to [get_cells data_q_reg[*]] $m_period
