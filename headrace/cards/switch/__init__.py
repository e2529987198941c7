"""The switch card's host side. ``layout`` has the words that its tables and programs are made of, ``flows`` what a
datapath is told. The OpenFlow agent stands on ``flows`` alone: ``agent`` is the switch as controllers know it, with
``flow_tables``, ``groups``, ``ports``, ``checks`` and ``statistics`` for its parts and ``openflow`` for its messages;
``controllers`` has the sockets; ``learning`` and ``ofctl`` do without a controller."""
