"""A camera's whole perception as one CUDA graph; imported only where torch is installed."""
