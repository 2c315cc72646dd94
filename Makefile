# `make demo` and `make test` need nothing but Python; `make help` lists the rest.
PYTHON ?= python3
PIP_INSTALL = pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: help demo docs test lint types unit browser oracle pythons clients schema performance campaign sbom audit clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "%-14s%s\n", $$1, $$2}'

demo: .venv-demo/.ready ## a small environment, the base weights, real questions answered
	.venv-demo/bin/thisthat pull
	sh examples/demo.sh .venv-demo/bin/thisthat

docs: .venv-docs/.ready ## the documentation as a site, build/site/index.html; its environment has no torch
	.venv-docs/bin/python docs/site/build.py build/site
	@echo "build/site/index.html; served, its search has excerpts: python3 -m http.server --directory build/site"

# What waits for a registry or a disk shares the time with what computes.
test: ## everything the tests need, then lint, types, browser and tests
	+$(MAKE) --jobs=2 .venv/.ready browser
	+$(MAKE) lint
	+$(MAKE) --jobs=2 types unit

lint: .venv/.ready ## ruff check and ruff format --check
	.venv/bin/ruff check .
	.venv/bin/ruff format --check src tests

types: .venv/.ready ## mypy, strict
	.venv/bin/mypy

# Some containers forbid Python to keep what it compiled; hundreds of tests start a process.
unit: export PYTHONDONTWRITEBYTECODE =
unit: export OMP_NUM_THREADS = 1
unit: .venv/.ready ## all tests, two at a time
	.venv/bin/thisthat pull
	.venv/bin/python -m pytest -n 2 --dist worksteal

# Ten thousand items of every branch and arithmetic family against the slow oracle: about half an
# hour on two cores. ``make test`` draws some hundreds of each.
oracle: .venv/.ready ## every generated family against the slow oracle, half an hour
	THISTHAT_ORACLE_ITEMS=10000 nice -n 10 .venv/bin/python -m pytest -n auto --dist worksteal \
		--durations 0 tests/lab/suites/test_oracle.py

# The wheel, its dependencies resolved afresh, on every Python that pyenv has or PYTHONS names.
PYTHONS ?= $(wildcard $(HOME)/.pyenv/versions/3.1[0-3].*/bin/python)
pythons: .venv/.ready ## install the wheel on each supported Python and ask it; needs a registry
	THISTHAT_PYTHONS="$(or $(PYTHONS),$(CURDIR)/.venv/bin/python)" \
		.venv/bin/python -m pytest tests/test_packaging.py

# The playground is tested in a real browser; without one those tests say that they were skipped.
browser: ## install Chromium for the playground's tests
	@command -v chromium > /dev/null || sh scripts/install-chromium.sh || \
		echo "no chromium: the browser tests will be skipped"

.venv-demo/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv-demo
	.venv-demo/bin/$(PIP_INSTALL) -e .
	touch $@

.venv-docs/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv-docs
	.venv-docs/bin/$(PIP_INSTALL) -e '.[docs]'
	touch $@

# pip compiles with one core; templates among the packages' files are no Python and do not compile.
.venv/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	.venv/bin/$(PIP_INSTALL) --no-compile torch -e '.[dev]'
	-.venv/bin/python -m compileall -qq -j 0 .venv/lib
	touch $@

# Every client of the wire formats, unmodified, in environments of their own; needs npm too.
clients: .venv/.ready ## every client of the wire formats, unmodified; needs npm
	.venv/bin/python clients/run.py --write docs/tested-clients.md

# At least 5,000 requests made up from the OpenAPI document, none of which may be a server error.
schema: .venv/.ready ## five thousand requests made up from the OpenAPI document
	THISTHAT_SCHEMA_EXAMPLES=600 THISTHAT_SCHEMA_LEAST=5000 \
		.venv/bin/python -m pytest -s tests/serve/formats/test_openapi.py

# Attacks, faults and long runs against a real server, into docs/reliability.md. Root can do more.
SIZE ?= short
campaign: .venv/.ready ## attacks, faults, kills, soak: PARTS="kills disk", SIZE=full; renews docs/reliability.md
	.venv/bin/thisthat pull
	.venv/bin/python -m campaign $(PARTS) --size $(SIZE) --write docs/reliability.md

# Speed and cost of one numeric form on this machine, into docs/performance.md.
FORM ?= int8
performance: .venv/.ready ## measure speed and cost, renew docs/performance.md
	for name in latency cost; do \
		.venv/bin/thisthat bench $$name --form $(FORM) --out results/$(FORM) && \
		mkdir -p docs/results && \
		cp results/$(FORM)/$$name.json docs/results/$$name-$(FORM).json || exit 1; \
	done
	.venv/bin/thisthat report docs/results/*.json --performance-page docs/performance.md

# Both describe what .venv holds; their tools have an environment of their own.
sbom: .venv/.ready .venv-audit/.ready ## the dependencies as a CycloneDX file, results/sbom.cdx.json
	mkdir -p results
	.venv-audit/bin/cyclonedx-py environment .venv/bin/python --pyproject pyproject.toml \
		--mc-type library --output-reproducible --of JSON -o results/sbom.cdx.json
	@echo results/sbom.cdx.json

audit: .venv/.ready .venv-audit/.ready ## known weaknesses of the dependencies; needs network
	@mkdir -p results
	@.venv-audit/bin/pip-audit --path "$$(.venv/bin/python -c 'import site; print(*site.getsitepackages())')" \
		--skip-editable --progress-spinner off --format json 2> results/audit.txt \
		| .venv/bin/python scripts/audit.py

.venv-audit/.ready:
	$(PYTHON) -m venv .venv-audit
	@.venv-audit/bin/pip install --quiet --disable-pip-version-check cyclonedx-bom pip-audit || \
		{ echo "cyclonedx-bom and pip-audit cannot be installed: the registry cannot be reached"; exit 1; }
	touch $@

clean: ## remove the environments
	rm -rf .venv .venv-demo .venv-docs .venv-audit
