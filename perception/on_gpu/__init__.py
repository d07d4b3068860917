"""GPU path of perception: one CUDA graph per frame for all cameras. Imported only where torch is installed."""
