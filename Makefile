# The commands people use; `make help` lists them. `make setup` leaves .venv with everything; other targets call it.
PYTHON ?= $(shell command -v python3.11 || command -v python3.12 || command -v python3.13 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
DEMO_STAMP := $(VENV)/.installed-for-demo
# What is imported is compiled then: a quarter of the time of an installation.
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile

.PHONY: setup help demo test test-interpreters quick test-as-user test-ray test-trl test-frameworks test-packages lint bench proto proto-check header clean manifests image-test arm64-test conformance differential forging load siege siege-as-user siege-in-image mutation
setup: $(STAMP)  ## create .venv with everything; a plain `make` does that
	@$(BIN)/python -m compileall -q client proto sandbox || true  # for users who may not write there

$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(PIP) --upgrade pip
	$(PIP) -e '.[dev]'
	@touch $@ $(DEMO_STAMP)

help:  ## list the targets
	@sed -n 's/^\([a-z0-9-]*\):[^#]*## /\1\t/p' Makefile | expand -t 22

# What the demo needs and no more: it is the first command, also where the linters do not install (Python 3.9).
$(DEMO_STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(PIP) --upgrade pip
	$(PIP) -e '.[server,cli]'
	@touch $@
	@$(BIN)/python -m compileall -q client proto sandbox || true

demo: $(DEMO_STAMP)  ## score the example generations on an embedded sandbox
	$(BIN)/cruxbox score examples/generations_input.json --dataset examples/tasks.jsonl --mode input
	$(BIN)/cruxbox score examples/generations_output.json --dataset examples/tasks.jsonl --mode output

PYTEST = $(BIN)/python -m pytest
# Pytest keeps what it makes of a test file: compiling all of them takes ten seconds of CPU time in each of its processes.
export PYTHONDONTWRITEBYTECODE =
# The tests often wait, so three files run at a time, on any machine. The tests of a file share its daemons.
AT_ONCE ?= 3
TESTS = $(PYTEST) -n $(AT_ONCE) --dist loadfile --no-loadscope-reorder

test: setup  ## every test, against real daemons and real workers
	$(TESTS)

test-interpreters: setup  ## the core on every interpreter of this host; `make test` takes the oldest, the default and the newest
	CRUXBOX_INTERPRETERS=all $(TESTS) tests/daemon tests/cell

quick: setup  ## lint, and beside it every test that starts no process: the loop while writing code
	@$(MAKE) --no-print-directory lint & lint=$$!; \
	CRUXBOX_EXAMPLES=40 $(PYTEST) -m "not processes"; tests=$$?; wait $$lint && exit $$tests

# An ordinary user's daemon has other layers of confinement, so what starts daemons and workers runs as one, too.
AS_USER ?= tests/client tests/daemon tests/cell tests/fuzz tests/bench
test-as-user: setup  ## the same as an ordinary user without capabilities or namespaces, the files being somebody else's
	$(BIN)/python tests/unprivileged.py $(PYTEST) $(AS_USER)

lint: setup  ## format, lint, types, layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/mypy --config-file mypy-tests.ini $$(git ls-files 'bench/*.py' 'deploy/*.py' 'examples/*.py' 'tests/*.py' | grep -v conftest.py)
	$(BIN)/lint-imports

bench: setup  ## measure, side by side in one run
	$(BIN)/python -m bench

CONFORMANCE = PYTHONPATH=tests $(BIN)/python
conformance: setup  ## every hostile case (CASES="files network/bind-listen" chooses): as this user, then as an ordinary user without namespaces
	@$(CONFORMANCE) -m conformance $(CASES); first=$$?; \
	$(CONFORMANCE) tests/unprivileged.py $(BIN)/python -m conformance $(CASES); exit $$((first | $$?))

COUNT ?= 1000
differential: setup  ## thousands of programs by plain CPython, isolated and shared, on every interpreter
	cd tests && ../$(BIN)/python -m differential --count $(COUNT) --derived 200

forging: setup  ## the forging attacks through in-process scoring and through cruxbox
	$(BIN)/python -m bench.forging

header: setup  ## write the native helper's header from the protocol
	cd sandbox && ../$(BIN)/python -m cruxcell.protocol.header

INTO ?= .
proto:  ## regenerate the committed stubs (grpcio-tools 1.49.1: the oldest output every protobuf runtime accepts)
	$(PYTHON) -m venv .venv-proto
	.venv-proto/bin/pip install --quiet 'grpcio-tools==1.49.1' 'setuptools<80'
	cd proto && ../.venv-proto/bin/python -m grpc_tools.protoc -I. --python_out=$(INTO) --grpc_python_out=$(INTO) --pyi_out=$(INTO) cruxbox_proto/v1/sandbox.proto
	rm -rf .venv-proto

# What others' packages are tried in has an environment of its own.
.venv-ray/.installed: NEEDS = -e '.[server,cli,ray]'
.venv-trl/.installed: NEEDS = -e '.[server]' trl
.venv-frameworks/.installed: NEEDS = -e '.[server]' inspect_ai lm_eval
.venv-ray/.installed .venv-trl/.installed .venv-frameworks/.installed: pyproject.toml
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --disable-pip-version-check $(NEEDS) pytest pytest-asyncio pytest-timeout
	@touch $@

test-ray: .venv-ray/.installed  ## filter a Parquet set on a local Ray, against two daemons
	.venv-ray/bin/python -m pytest tests/filtering/test_filter_ray.py
	.venv-ray/bin/python examples/ray_filter.py

test-trl: .venv-trl/.installed  ## train a small model with a Reward, by TRL (installs torch: several GB)
	.venv-trl/bin/python -m pytest tests/client/test_trl.py tests/client/test_rewards.py

test-frameworks: .venv-frameworks/.installed  ## evaluate with Inspect and the LM Evaluation Harness
	.venv-frameworks/bin/python -m pytest tests/client/test_frameworks.py tests/client/test_code_eval.py

.venv-packages/.installed: tests/packages/requirements.txt
	$(PYTHON) -m venv .venv-packages
	.venv-packages/bin/python -m pip install --quiet --disable-pip-version-check -r tests/packages/requirements.txt
	@touch $@

test-packages: setup .venv-packages/.installed  ## real numpy, pandas, matplotlib … in workers
	CRUXBOX_PACKAGES=$(CURDIR)/.venv-packages/bin/python $(BIN)/python -m pytest tests/packages

.venv-deploy/.installed: deploy/requirements-check.txt
	$(PYTHON) -m venv .venv-deploy
	.venv-deploy/bin/python -m pip install --quiet --disable-pip-version-check -r deploy/requirements-check.txt
	@touch $@

manifests: .venv-deploy/.installed  ## render the Kubernetes manifests; schemas, policy, Dockerfile, alerts
	.venv-deploy/bin/python deploy/check.py

image-test: setup  ## build the image and run it as a restricted pod would (root, podman, buildah, runc)
	$(BIN)/python deploy/image_test.py

arm64-test: setup  ## preflight, the demo and the tests of confinement on an emulated aarch64 machine (root, qemu, debootstrap, cpio)
	$(BIN)/python deploy/arm64_test.py

proto-check:  ## are the committed stubs those of the committed .proto?
	@folder=$$(mktemp -d) && $(MAKE) --no-print-directory proto INTO=$$folder && cd $$folder && \
	find . -type f | while read -r stub; do diff "$$stub" "$(CURDIR)/proto/$$stub" || exit 1; done; same=$$?; \
	rm -rf "$$folder"; exit $$same

.venv-mutation/.installed:
	$(PYTHON) -m venv .venv-mutation
	.venv-mutation/bin/python -m pip install --quiet --disable-pip-version-check 'cosmic-ray==8.7.0'
	@touch $@

SAMPLE ?= 5
SEED ?= 0
KINDS ?= all
JOBS ?= 2
mutation: setup .venv-mutation/.installed  ## change the trusted modules; which changes does no test notice? (MODULES=report SAMPLE=0 KINDS=guards)
	PYTHONPATH=tests .venv-mutation/bin/python -m mutation --sample $(SAMPLE) --seed $(SEED) --kinds $(KINDS) --jobs $(JOBS) $(if $(KEEP),--keep $(KEEP)) $(if $(MODULES),--modules $(MODULES))

MINUTES ?= 10
load: setup  ## 64 clients of three tenants, honest, hostile and stalling work: nothing lost, nothing wrong
	$(BIN)/python -m bench.load --minutes $(MINUTES)

siege: setup  ## an attacker, strangers and killed processes beside honest tenants: nothing lost, nothing wrong
	$(BIN)/python -m bench.siege --minutes $(MINUTES)

siege-as-user: setup  ## the same against an ordinary user's daemons without namespaces
	$(BIN)/python tests/unprivileged.py $(BIN)/python -m bench.siege --minutes $(MINUTES)

siege-in-image: MINUTES = 2
siege-in-image: setup  ## the same against daemons that run from the image, as restricted pods would (root, podman, buildah, runc)
	$(BIN)/python deploy/image_siege.py --minutes $(MINUTES)

clean:  ## remove what the targets made
	rm -rf $(VENV) .venv-mutation .venv-deploy .venv-ray .venv-packages .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist
