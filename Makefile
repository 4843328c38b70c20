# make run     set everything up, then collect your sessions
# make test    set everything up, then check everything
# make dist    build a wheel and a source archive in dist/
# make docs    write the pages of docs/cli and docs/agents from the commands and the installer
# make bench   measure speed and size
# make recall  measure what is recalled and learned from real sessions
# make mutate ROOM=pricing   change code in small ways and list what no test notices
#
# Everything happens in .venv. tools/setup makes it on the first run and again when pyproject.toml
# has changed. PYTHON=/path/to/python picks the interpreter.

SHELL := bash
.DEFAULT_GOAL := help
# Tests start hundreds of processes. Without compiled files each would compile all modules again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help run test types tests dist docs bench recall mutate setup setup-dev clean

BIN := .venv/bin
# Three workers more than there are processors: many tests wait for a database, a browser, a process.
WORKERS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2) + 3)
PYTEST_ARGS ?= -n $(WORKERS) --dist worksteal
BENCH_ARGS ?=
RECALL_ARGS ?=
MINUTES ?= 20
SECONDS ?= 20

help:
	@sed -n 's/^# make/  make/p' Makefile

setup:
	@tools/setup

setup-dev:
	@tools/setup dev

run: setup
	@$(BIN)/session-memory sync --demo-if-empty || [ $$? -eq 3 ]  # 3: done, but with problems

test: setup-dev
	@echo "== 1/4 ruff check: lint"
	@$(BIN)/ruff check .
	@echo "== 2/4 ruff format --check: layout"
	@$(BIN)/ruff format --check .
	@# mypy uses one processor and prints one line, so the tests run beside it. They take longer,
	@# so it gives way to them.
	@$(MAKE) --no-print-directory --jobs=2 types tests

types: setup-dev
	@echo "== 3/4 mypy: types, strict"
	@nice -n 5 $(BIN)/mypy

tests: setup-dev
	@echo "== 4/4 pytest $(PYTEST_ARGS): the tests"
	@tools/in_memory $(BIN)/python -m pytest $(PYTEST_ARGS)

dist: setup-dev
	@$(BIN)/python -m build --outdir dist .
	@ls dist

bench: setup-dev
	@$(BIN)/python benchmarks/run.py $(BENCH_ARGS)

recall: setup-dev
	@$(BIN)/python benchmarks/recall.py $(RECALL_ARGS)

mutate: setup-dev
	@[ -n "$(ROOM)" ] || { echo "usage: make mutate ROOM=pricing [TESTS=tests/pricing] [MINUTES=20] [SECONDS=20]"; exit 2; }
	@$(BIN)/python tools/mutate.py $(ROOM) --minutes $(MINUTES) --seconds $(SECONDS) $(if $(TESTS),--tests $(TESTS)) \
		$(if $(AGAIN),--again $(AGAIN)) $(if $(REACHED),--reached $(REACHED))

docs: setup-dev
	@$(BIN)/python -m session_memory.cli.kit.reference docs

clean:
	rm -rf .venv build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
