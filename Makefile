# Thin entries: everything is done by the `headrace` command, pytest and the tools' own programs.
HEADRACE = .venv/bin/headrace

.PHONY: setup demo test lint bench docs
setup:
	@scripts/setup.sh

demo: setup
	@$(HEADRACE) demo

test: setup
	@.venv/bin/python -m pytest -n auto --dist loadfile

lint: setup
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy
	$(HEADRACE) lint
	.venv/bin/clang-format --dry-run --Werror sim/*.h sim/*.cpp

bench: setup
	@$(HEADRACE) bench all

docs: setup
	@$(HEADRACE) docs build/docs
