"""Statistical inference from noisy answers alone: estimates with the law of their error.

In reading order: `measured` (what an answer says), `spaces` (functions of a record's codes, split
into main effects and interactions), `blue` (best linear unbiased estimates), `law` (of the error),
`estimates` (values, ratios and quantiles with their intervals).
"""
