"""The OpenFlow 1.3 protocol as a switch speaks it: messages of controllers are decoded, a switch's are encoded."""
