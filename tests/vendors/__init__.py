"""What the product claims on each vendor's devices, decided by the real scheduler.

A folder per vendor. `<vendor>/__init__.py` has the devices as the vendor's DRA driver publishes them: `DRIVER`,
`CLASSES` (the DeviceClasses of its chart, with their selectors) and a function per kind of device. A function takes
what tests vary (memory, health, sharing) and fills in the rest as the driver does. `<vendor>/facts.py` has `VENDOR`:
which of these devices may serve a model, from the driver's documentation.

`facts.py`              the data types of a vendor's facts
`catalog.py`            finds all vendor folders: VENDORS, PROFILES
`expectation.py`        what the scheduler must allocate, computed from the facts without CEL or claims
`scheduling_trials.py`  runs hundreds of small allocations on one control plane, each on its own node
`odd_devices.py`        random devices that no driver's documentation promises
`test_*.py`             run over all vendors; tests of one vendor alone are in its folder

To add a vendor: add its Profile to webhook/core/profiles/builtin.py, a folder here, and a row to README.md's table.
`test_catalog.py` fails for a built-in profile without facts.

One control plane for all of it (`plane` in `conftest.py`), with raised client limits and the beta versions of
resource.k8s.io. MODELFIT_VENDORS=full enlarges the matrix and the random inventories.
"""
