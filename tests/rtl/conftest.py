"""Prepares the environment of every RTL test."""

from simulation import use_verilator

use_verilator()
