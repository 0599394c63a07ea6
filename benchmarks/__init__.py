"""Measurements that the documentation quotes, and the comparison with published peers."""
