"""Particle gradient descent as its authors publish it: targets in SW1, descent on SW2."""
