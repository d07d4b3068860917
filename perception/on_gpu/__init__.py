"""GPU path of perception: one CUDA graph per frame for all cameras. Needs torch."""
