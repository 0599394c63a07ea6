"""How Hallmark is deployed: on one machine, in containers, on Kubernetes. Nothing imports it."""
