"""DPAM: accelerated mirror descent with randomised smoothing, on one noisy histogram."""
