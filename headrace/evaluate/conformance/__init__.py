"""Whether a switch does what OpenFlow 1.3 says: os-ken's tests of switches, and what a barrier's answer is worth.

``runner.run`` takes any ``device.Device``; ``ovs_device.OvsDevice`` is Open vSwitch, which is beside us in all of it.
"""
