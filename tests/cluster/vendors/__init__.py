"""The product's claims for every vendor, put to the real scheduler on devices as each vendor's driver publishes them.

Belongs here: inventories, what ought to happen on them by the drivers' own documentation (`expected.py`, which knows
nothing of how the product does it), and the comparison with what does. The claims are the product's; the pods, nodes
and slices are the tests'. Many trials run at once, each on a node of its own: see `trials.py`.

One control plane of its own for all of it (`plane` in `conftest.py`): a scheduler with raised client limits, and the
beta versions of resource.k8s.io served. MODELFIT_VENDORS=full makes the matrix and the random inventories larger.
"""
