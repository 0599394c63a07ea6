"""The place where releases run: workspace, profile, log, keys, workers, databases."""
