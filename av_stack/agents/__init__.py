"""Agents: whatever drives the ego in a scenario. `base` has the protocol, `factory` chooses one by its name."""
