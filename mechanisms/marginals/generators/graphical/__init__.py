"""Graphical models: estimated by belief propagation and mirror descent, and sampled."""
