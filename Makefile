.PHONY: demo test check bench fuzz soak format clean help
.DEFAULT_GOAL := help

OUT ?= out

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: ## install, start the embedded server, drive town_drive; files in out/ (OUT=DIR chooses the folder)
	@scripts/setup.sh
	@.venv/bin/av-stack run town_drive --out $(OUT)

test: ## install what tests need and run them (AV_STACK_DATA=DIR adds tests on real maps and pictures)
	@scripts/setup.sh dev
	@.venv/bin/python -m pytest $(PYTEST_ARGS)

check: ## format, lint, types, import contracts
	@scripts/setup.sh dev
	@.venv/bin/ruff format --check .
	@.venv/bin/ruff check .
	@.venv/bin/mypy
	@.venv/bin/lint-imports

format: ## apply the formatter and the safe fixes
	@scripts/setup.sh dev
	@.venv/bin/ruff format .
	@.venv/bin/ruff check --fix .

bench: ## measure the server, the renderer and the closed loop; figures in out/bench/
	@scripts/setup.sh dev
	@.venv/bin/python -m benchmarks --out $(OUT)/bench

fuzz: ## 200,000 hostile messages against the server (FUZZ_ARGS="--seed 2 --messages 1000"); figures in out/fuzz/
	@scripts/setup.sh dev
	@.venv/bin/python -m tests.embedded_carla.fuzz.run_fuzz --out $(OUT)/fuzz $(FUZZ_ARGS)

soak: ## hours of ticks, map loads and vanishing clients; Ctrl-C, and it goes on where it was; figures in out/soak/
	@scripts/setup.sh dev
	@.venv/bin/python -m benchmarks.soak --out $(OUT)/soak

clean: ## remove what make made
	rm -rf .venv build *.egg-info out .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
