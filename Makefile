# Thin entries: everything is done by the `headrace` command, pytest and the tools' own programs.
HEADRACE = .venv/bin/headrace

.PHONY: setup demo dashboard test soak mutation lint bench figures figures-fit docs recording
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

mutation: setup  # changes of the RTL that the tests should find: about an hour of processor time
	@.venv/bin/python tests/mutation/mutate.py

lint: setup
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy
	$(HEADRACE) lint
	.venv/bin/clang-format --dry-run --Werror $$(find sim -name "*.h" -o -name "*.cpp")

bench: setup
	@$(HEADRACE) bench all

figures: setup  # what is stale of what README and docs show, measured again and written there, but for place and route
	@$(HEADRACE) figures --measure

figures-fit: setup  # the same for place and route, which takes hours
	@$(HEADRACE) figures --measure --fit

docs:  # the site: manual, registers, Python packages, with a search; it opens from the disk
	@scripts/setup.sh site
	@.venv/bin/python scripts/build_docs.py build/docs
	@echo "docs: open build/docs/README.html"

recording: setup  # the terminal that README shows; `make demo` has left the traffic
	@mkdir -p build/recording && cp build/demo/traffic.pcap build/recording
	@cd build/recording && PATH="$(CURDIR)/.venv/bin:$$PATH" python $(CURDIR)/scripts/record_terminal.py \
		$(CURDIR)/docs/images/first-session.svg \
		"headrace filter 'tcp port 80' traffic.pcap -w web.pcap" \
		"tcpdump -r traffic.pcap -w web-tcpdump.pcap 'tcp port 80'" \
		"cmp web.pcap web-tcpdump.pcap && echo same"
