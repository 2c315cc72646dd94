# The two commands of the README, and what they need.
PYTHON ?= python3
PIP_INSTALL = pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: demo test lint types unit browser oracle clients schema performance clean

demo: .venv-demo/.ready
	.venv-demo/bin/thisthat pull
	sh examples/demo.sh .venv-demo/bin/thisthat

test: .venv/.ready lint types browser unit

lint: .venv/.ready
	.venv/bin/ruff check .
	.venv/bin/ruff format --check src tests

types: .venv/.ready
	.venv/bin/mypy

unit: .venv/.ready
	.venv/bin/thisthat pull
	OMP_NUM_THREADS=1 .venv/bin/python -m pytest -n 2 --dist worksteal

# Ten thousand items of every branch and arithmetic family against the slow oracle: about half an
# hour on two cores. ``make test`` draws some hundreds of each.
oracle: .venv/.ready
	THISTHAT_ORACLE_ITEMS=10000 nice -n 10 .venv/bin/python -m pytest -n auto --dist worksteal \
		--durations 0 tests/lab/suites/test_oracle.py

# The playground is tested in a real browser; without one those tests say that they were skipped.
browser:
	@command -v chromium > /dev/null || sh scripts/install-chromium.sh || \
		echo "no chromium: the browser tests will be skipped"

.venv-demo/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv-demo
	.venv-demo/bin/$(PIP_INSTALL) -e .
	touch $@

.venv/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	.venv/bin/$(PIP_INSTALL) torch -e '.[dev]'
	touch $@

# Every client of the wire formats, unmodified, in environments of their own; needs npm too.
clients: .venv/.ready
	.venv/bin/python clients/run.py --write docs/serve.md

# At least 5,000 requests made up from the OpenAPI document, none of which may be a server error.
schema: .venv/.ready
	THISTHAT_SCHEMA_EXAMPLES=600 THISTHAT_SCHEMA_LEAST=5000 \
		.venv/bin/python -m pytest -s tests/serve/formats/test_openapi.py

# Speed and cost of one numeric form on this machine, into docs/performance.md.
FORM ?= int8
performance: .venv/.ready
	for name in latency cost; do \
		.venv/bin/thisthat bench $$name --form $(FORM) --out results/$(FORM) && \
		mkdir -p docs/results && \
		cp results/$(FORM)/$$name.json docs/results/$$name-$(FORM).json || exit 1; \
	done
	.venv/bin/thisthat report docs/results/*.json --performance-page docs/performance.md

clean:
	rm -rf .venv .venv-demo
