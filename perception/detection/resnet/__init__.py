"""The ResNet detector: its network, and the training loss that adds the outputs of a trained detector."""
