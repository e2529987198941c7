# Thin entries: everything is done by the `headrace` command, pytest and the tools' own programs.
HEADRACE = .venv/bin/headrace

.PHONY: setup demo dashboard test soak lint bench figures docs
setup:
	@scripts/setup.sh

demo:
	@scripts/setup.sh demo
	@$(HEADRACE) demo

dashboard:  # 32 moving nodes in the browser
	@scripts/setup.sh dashboard
	@$(HEADRACE) emulate dashboard examples/emulator/wandering.toml

test: setup
	@.venv/bin/python -m pytest -n auto --dist loadfile

soak: setup  # the wide sweeps and long random runs too
	@.venv/bin/python -m pytest -n auto --dist loadfile --soak

lint: setup
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy
	$(HEADRACE) lint
	.venv/bin/clang-format --dry-run --Werror $$(find sim -name "*.h" -o -name "*.cpp")

bench: setup
	@$(HEADRACE) bench all

figures: setup  # all that README and docs show, measured again and written there
	@$(HEADRACE) bench all --update-docs
	@$(HEADRACE) bench cost --update-docs
	@$(HEADRACE) study capture --update-docs --out build/capture-study
	@$(HEADRACE) study bridge --update-docs --out build/bridge-study
	@$(HEADRACE) study rpu --update-docs --out build/rpu-study
	@$(HEADRACE) study switch --update-docs --out build/switch-study
	@$(HEADRACE) study host --update-docs --out build/host-study
	@$(HEADRACE) study emulator --update-docs --out build/emulator-study

docs: setup
	@$(HEADRACE) docs build/docs
