"""The columns of a spec: public domains, grids, categories, and how files write them."""
