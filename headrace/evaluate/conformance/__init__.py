"""Whether a switch does what OpenFlow 1.3 says: os-ken's tests of switches.

``runner.run`` takes any ``device.Device``; ``ovs_device.OvsDevice`` is Open vSwitch, which is beside us in all of it.
"""
