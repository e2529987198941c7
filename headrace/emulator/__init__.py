"""Mobile networks of real programs: nodes that are network namespaces, links that come and go as physics says, and a
fabric between them: the switch card, Open vSwitch or the kernel."""
