"""`av-stack tune`: measures how a car answers its controls, and writes gains with their stability margins."""
