"""`av-stack tune`: measures the response of a car to its controls, and writes gains with their stability margins."""
