.PHONY: demo smoke test check bench eval tour experiments check-kernels test-gpu bench-gpu fuzz kill-sweep soak format clean help
.DEFAULT_GOAL := help

# The environment's OUT is another program's, which may empty that folder: `make OUT=DIR` chooses ours.
OUT = out

# Where this variable is set, each of the hundreds of programs that tests start would compile the sources anew, and the
# packages that `scripts/setup.sh dev` leaves to the first import.
export PYTHONDONTWRITEBYTECODE =

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: ## install, start the embedded server, drive town_drive by the camera alone; files in out/ (OUT=DIR chooses the folder)
	@scripts/setup.sh
	@.venv/bin/av-stack run town_drive --out $(OUT)

SMOKE_TESTS = tests/av_core/test_frames.py tests/av_stack/test_yaml_files.py tests/control tests/planning/test_route.py \
	tests/scenarios/script/test_script_engine.py tests/scenarios/test_judge.py tests/scenarios/test_official_scores.py \
	tests/perception/lanes/test_single_image.py tests/embedded_carla/server/test_server_command_line.py tests/av_stack/drives/test_drive.py::test_ten_seconds_of_driving

smoke: ## under a minute: unit tests of every part, and ten seconds of driving
	@scripts/setup.sh dev
	@.venv/bin/python -m pytest -q $(SMOKE_TESTS)

WORKERS ?= 2

test: ## install what tests need and run them (WORKERS=0 runs them in one process; AV_STACK_DATA=DIR adds tests on real maps and pictures)
	@scripts/setup.sh dev
	@.venv/bin/python -m pytest --numprocesses $(WORKERS) $(if $(filter-out 0,$(WORKERS)),--dist loadfile) $(PYTEST_ARGS)

# numpy 2.2, the last for Python 3.10, has other stubs than those that the tests' types follow. On a very busy machine,
# mypy's workers end with an internal error ("No status file found"): what one process says counts then.
MYPY = $(1) || $(1) --num-workers 1
check: ## format, lint, types, import contracts
	@scripts/setup.sh dev
	@.venv/bin/ruff format --check .
	@.venv/bin/ruff check .
	@$(call MYPY,.venv/bin/mypy)
	@if .venv/bin/python -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then $(call MYPY,.venv/bin/mypy -p tests); fi
	@.venv/bin/lint-imports

format: ## apply the formatter and the safe fixes
	@scripts/setup.sh dev
	@.venv/bin/ruff format .
	@.venv/bin/ruff check --fix .

bench: ## measure the server, the renderer and the closed loop; figures in out/bench/
	@scripts/setup.sh dev
	@.venv/bin/python -m benchmarks --out $(OUT)/bench

# AV_STACK_DATA=DIR adds real maps and pictures: Town02 and Town10HD are used in no training and no tuning of lanes
eval: ## measure perception against the truth in every weather; Ctrl-C, and it goes on where it was; figures in out/eval/
	@scripts/setup.sh dev
	@if [ -n "$$AV_STACK_DATA" ]; then \
		.venv/bin/av-stack eval perception --parts lanes,ranging,health,lights,detection,dashcam --map Town02,Town10HD,city_grid \
			--maps "$$AV_STACK_DATA/maps" --dashcam "$$AV_STACK_DATA/lanes" --out $(OUT)/eval $(EVAL_ARGS); \
	else \
		.venv/bin/av-stack eval perception --parts lanes,ranging,health,lights --map city_grid,country_road --out $(OUT)/eval $(EVAL_ARGS); \
	fi

# TOUR_ARGS="--only drive,replay" runs some of its lines
tour: ## run the tour of README.md as written; Ctrl-C, and it goes on where it was; statuses in out/tour/tour.json
	@scripts/setup.sh dev
	@.venv/bin/python -m benchmarks.tour --out $(OUT)/tour $(TOUR_ARGS)

experiments: ## make the tables of docs/experiments.md from the result files below docs/
	@scripts/setup.sh dev
	@.venv/bin/python -m benchmarks.experiments

# MAP_FUZZ_ARGS="--seed 2 --maps 500" changes the second part
fuzz: ## 200,000 hostile messages (FUZZ_ARGS="--seed 2 --messages 1000") and 3,000 mutated maps; figures in out/fuzz/
	@scripts/setup.sh dev
	@.venv/bin/python -m tests.embedded_carla.fuzz.run_map_fuzz --out $(OUT)/fuzz $(MAP_FUZZ_ARGS)
	@.venv/bin/python -m tests.embedded_carla.fuzz.run_fuzz --out $(OUT)/fuzz $(FUZZ_ARGS)

# KILL_SWEEP_ARGS="--moments 25 --rerun .rerun/bin/rerun"; `unshare` keeps the small disks apart from the machine's mounts
kill-sweep: ## end 400 drives by signals, fill 20 disks; needs root; Ctrl-C, and it goes on where it was; in out/kill_sweep/
	@scripts/setup.sh dev
	@unshare --mount --propagation private .venv/bin/python -m benchmarks.kill_sweep --out $(OUT)/kill_sweep $(KILL_SWEEP_ARGS)

soak: ## hours of ticks, map loads and vanishing clients; Ctrl-C, and it goes on where it was; figures in out/soak/
	@scripts/setup.sh dev
	@.venv/bin/python -m benchmarks.soak --out $(OUT)/soak

check-kernels: ## compile every CUDA kernel for all architectures, with no GPU; and run their logic on the CPU
	@scripts/setup.sh dev
	@AV_STACK_ALL_ARCHITECTURES=1 .venv/bin/python -m pytest -q tests/cuda_ops

# `scripts/setup.sh dev` puts torch and the CUDA packages into .venv; `make test` has done so.
GPU_PYTHON ?= .venv/bin/python

test-gpu: ## the CUDA operators on a GPU, and under compute-sanitizer where it is installed (GPU_PYTHON= chooses Python)
	@$(GPU_PYTHON) scripts/needs_gpu.py test-gpu
	@$(GPU_PYTHON) -m pytest -q tests/cuda_ops/on_gpu tests/perception/on_gpu tests/perception/test_device.py \
		--confcutdir=tests/cuda_ops
	@if command -v compute-sanitizer >/dev/null; then $(GPU_PYTHON) -m benchmarks.gpu.sanitize --tools; \
	else echo 'test-gpu: compute-sanitizer is not installed, skipped'; fi

# MINUTES is the time of all parts together: with less than 40, timings are repeated less often, and what does not fit is
# named at the end. A fast GPU ends earlier. The records of an H200 go to docs; those of other GPUs stay in out/bench.
MINUTES ?= 40

bench-gpu: ## each CUDA operator beside its peers, the whole frame, counters; in MINUTES=40; records in out/bench/, pages in docs/
	@$(GPU_PYTHON) scripts/needs_gpu.py bench-gpu
	@status=0; $(GPU_PYTHON) -m benchmarks.gpu.everything --out $(OUT)/bench --minutes $(MINUTES) \
		$${AV_STACK_DATA:+--pictures $$AV_STACK_DATA/lanes} || status=1; \
	$(GPU_PYTHON) -m benchmarks.gpu.placing $(OUT)/bench && exit $$status

clean: ## remove what make made
	rm -rf .venv .uv build embedded_carla/build *.egg-info out .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
