"""Training methods: one file each, to be read beside its paper. A method is a loss over a batch
and, where it has one, a state.

cross_entropy, focal            the labels alone
rank_o_tom                      the paper, and as the embedded model was trained
scn, eac, rac                   the paper's rivals
crl, mbls                       two more losses that rank or limit confidence

``registry.py`` finds a method by its name, ``settings.py`` has every hyperparameter with its
source, and ``python -m train.experiments.table1`` trains them all from one start.
"""
