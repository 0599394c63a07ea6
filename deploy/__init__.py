"""Where Hallmark runs: on one machine, in containers, on Kubernetes. Nothing imports it."""
