"""Nsight Compute's counters of softmax and of the norms on rows, beside the fastest peers."""
