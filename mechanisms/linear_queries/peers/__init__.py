"""Published methods that DPFW is compared with, behind the same interface."""
