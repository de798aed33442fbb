# Everything runs from .venv, which these rules make from nothing but Python 3.11 and make.
PYTHON ?= python3
BIN := .venv/bin
JOBS ?= examples/pipelines
export PYTHONDONTWRITEBYTECODE :=  # with it each of the programs that tests start would compile the whole package

LONG := tests/e2e \
	tests/stores/races \
	tests/stores/mongo/test_kills.py \
	tests/stores/mongo/test_restart.py \
	tests/stores/redis/test_kills.py \
	tests/stores/redis/test_restart.py \
	tests/documents/test_races.py \
	tests/stores/test_state_machine.py \
	tests/simulation/test_mutations.py \
	tests/model \
	tests/browser/test_crowd.py \
	tests/browser/test_accessible.py \
	tests/browser/test_sign_on.py \
	tests/bench/test_dashboard_reads.py \
	tests/bench/test_growth.py \
	tests/bench/test_stores.py \
	tests/bench/test_runtime.py \
	tests/bench/test_weight.py \
	tests/runtime/engines/test_celery.py \
	tests/app/test_slow_network.py \
	tests/importers/test_real_cron.py \
	tests/importers/test_real_apscheduler.py \
	tests/importers/test_real_celery_beat.py \
	tests/bench/test_engines.py
LONGER := tests/chaos/test_chaos.py tests/chaos/test_failover.py tests/soak/test_soak.py
SEEDS ?= 10000
FAULTS ?= 1000
EXAMPLES ?= 30
RUNS ?= 2000000
.PHONY: run test proof sim chaos soak fuzz cover check bench format lock docs vendor dist clean

run: .venv/run.stamp  ## install and serve examples/pipelines
	$(BIN)/tickwise serve $(JOBS)

test: .venv/dev.stamp  ## the whole suite but for what takes minutes; every branch of the core is walked by its own tests
	$(BIN)/pytest -n 2 --dist loadfile README.md docs  # a document in one process: its examples build on each other
	$(BIN)/pytest -n 2 --cov=tickwise.core --cov-report= tests/core
	$(BIN)/coverage report --include='*/tickwise/core/*' --fail-under=100
	$(BIN)/pytest -n 2 --dist loadfile tests $(addprefix --ignore=,tests/core $(LONG) $(LONGER)) $(ARGS)

proof: .venv/dev.stamp  ## real processes, raced, killed and watched, and every clock change of every zone; takes minutes
	TICKWISE_PROOF=1 $(BIN)/pytest -n 2 tests/core/cron $(LONG) $(ARGS)

sim: .venv/dev.stamp  ## SEEDS histories of simulated fleets, in two processes; takes about half an hour
	$(BIN)/python -m tests.simulation --seeds $(SEEDS)

chaos: .venv/dev.stamp  ## what docs/reliability.md reports: FAULTS to a fleet on each store; takes three quarters of an hour
	TICKWISE_TEST_FAULTS=$(FAULTS) TICKWISE_TEST_REPORT=$(CHAOS_REPORT) $(BIN)/pytest -s -q tests/chaos $(ARGS)

soak: .venv/dev.stamp  ## RUNS runs with retention on SQLite and on PostgreSQL; nothing may grow. PLOTS names a folder for pictures
	TICKWISE_TEST_SOAK=$(RUNS) TICKWISE_TEST_PLOTS=$(PLOTS) $(BIN)/pytest -s -q tests/soak $(ARGS)

fuzz: .venv/dev.stamp  ## inputs and rows that are nearly right, new ones each time; takes minutes
	TICKWISE_EXPLORE=1 TICKWISE_EXAMPLES=$(EXAMPLES) $(BIN)/pytest -n 2 tests/fuzz $(ARGS)

cover: .venv/dev.stamp  ## which lines of the whole package the suite walks
	$(BIN)/pytest -n 2 --cov --cov-report=term tests $(addprefix --ignore=,$(LONG) $(LONGER)) $(ARGS)

check: .venv/dev.stamp  ## format, lint, types, import contracts
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

bench: .venv/dev.stamp  ## every figure of docs/benchmarks.md, with its peer beside it
	for part in time "stores --full" "growth --full" runtime engines weight dashboard documents; do $(BIN)/python -m bench $$part || missed=1; done; exit $${missed:-0}

format: .venv/dev.stamp
	$(BIN)/python -m tests.support.sync_stub
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

lock: .venv/dev.stamp  ## pins with hashes and without addresses
	$(BIN)/pip install --quiet uv
	$(BIN)/uv pip compile pyproject.toml --extra postgres --extra mysql --extra mongodb --extra redis --universal --generate-hashes --no-header --no-annotate --quiet -o requirements.lock
	$(BIN)/uv pip compile pyproject.toml --extra all --group dev --universal --generate-hashes --no-header --no-annotate --quiet -o requirements-dev.lock
	cd bench/stores/isolated_peers && $(CURDIR)/$(BIN)/uv pip compile pins.in --universal --generate-hashes --no-header --no-annotate --quiet -o pins.lock
	cd tests/support/servers/ray_pins && $(CURDIR)/$(BIN)/uv pip compile pins.in --universal --generate-hashes --no-header --no-annotate --quiet -o pins.lock

docs: .venv/dev.stamp  ## the site of docs/, strictly, into site/X.Y beside its other versions; its timelines are drawn anew
	$(BIN)/python -m tools.timelines
	$(BIN)/python -m tools.site

vendor: .venv/dev.stamp  ## the dashboard's files of others, from npm packages; only this needs npm
	$(BIN)/python -m tools.vendor

dist: .venv/dev.stamp  ## the packages, installed and tried in a bare environment, and their bill of materials
	rm -rf dist
	$(BIN)/hatchling build -d dist
	$(BIN)/python -m tools.smoke dist/*.whl
	$(BIN)/python -m tools.sbom dist/tickwise.cdx.json

clean:
	rm -rf .venv dist site .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/run.stamp: requirements.lock pyproject.toml | .venv/bin/python
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --requirement requirements.lock
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --editable .
	touch $@

.venv/dev.stamp: requirements-dev.lock .venv/run.stamp
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --requirement requirements-dev.lock
	touch $@
