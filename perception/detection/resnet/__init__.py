"""The ResNet detector: its network, and the training loss that follows a trained detector."""
