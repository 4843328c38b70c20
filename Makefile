# make run    set everything up, then collect your sessions
# make test   set everything up, then check everything
# make bench  set everything up, then measure
# make docs   write the pages of docs/cli from the commands' own help
#
# Everything happens in .venv, which tools/setup makes on the first run and leaves alone
# until pyproject.toml changes. PYTHON=/path/to/python picks the interpreter.

SHELL := bash
.DEFAULT_GOAL := help
.PHONY: help run test bench docs setup setup-dev clean

BIN := .venv/bin
PYTEST_ARGS ?= -n 2
BENCH_ARGS ?=

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
	@echo "== 3/4 mypy: types, strict"
	@$(BIN)/mypy
	@echo "== 4/4 pytest $(PYTEST_ARGS): the tests"
	@$(BIN)/python -m pytest $(PYTEST_ARGS)

bench: setup-dev
	@$(BIN)/python benchmarks/run.py $(BENCH_ARGS)

docs: setup-dev
	@$(BIN)/python -m session_memory.cli.kit.reference docs

clean:
	rm -rf .venv build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
