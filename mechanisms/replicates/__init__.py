"""Replicate weights: how far other noise would have moved everything computed from the records.

    simulated    a curator whose noise is simulated, for records that are public
    pairs        the records' two-way tables side by side
    rerun        the mechanism run once more, on the released records
    calibration  how far replicates must be stretched to the error that noisy answers show
    weights      nonnegative weights of the records that have a rerun's tables

The released records stand in for the private table: they are measured with fresh noise of the same
law, and fitted again. How far a rerun's tables are from those of the records tells how far those of
the records are from the private ones. No private record has a part in it.

Source.  Efron (1979), "Bootstrap methods: another look at the jackknife", Annals of Statistics
         7(1), for the parametric bootstrap; Efron (2004), "The estimation of prediction error:
         covariance penalties and cross-validation", J. Am. Stat. Assoc. 99, for the calibration;
         Deville, Saerndal (1992), "Calibration estimators in survey sampling", J. Am. Stat. Assoc.
         87, for weights that reproduce moments; Rubin (1981), "The Bayesian bootstrap", Annals of
         Statistics 9(1), for sampling. Their combination is ours; `benchmarks/replicates.py`
         measures how often its intervals hold.
"""
