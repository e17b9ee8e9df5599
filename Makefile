# Serried: build, stage, install, try, test. The work is in small scripts under scripts/ and tests/.
PREFIX ?= /usr/local
DESTDIR ?=
PARTS ?=
TUNE ?=

.PHONY: all install demo check test mutations mpich-suite applications wheel deb bench sweep bench-loaded bench-nodes bench-energy bench-containers bench-devices bench-armci bench-micro clean help

all: ## build everything and stage a usable tree in stage/ (this is plain `make`)
	@scripts/stage

install: all ## copy the staged tree to PREFIX (/usr/local); DESTDIR is put in front; TUNE=1 measures this machine, too
	@scripts/install "$(DESTDIR)$(PREFIX)"
	@if [ -n "$(TUNE)" ]; then "$(DESTDIR)$(PREFIX)/bin/serried" tune; fi

demo: ## waves in a harbour on 4 ranks with mpi4py, with all set-up (about 3 minutes, most of it the compiler's)
	@scripts/setup venv
	@scripts/stage build/demo/tree quick
	@build/venv/bin/python examples/harbour/demo.py --tree build/demo/tree

check: ## what shows most mistakes in the least time: about 4 minutes, seconds when little has changed
	@scripts/setup rust-tools venv
	@build/venv/bin/python tests/run.py --quick

test: ## everything, with all set-up; PARTS="unit mpi4py" runs only these
	@scripts/setup compilers rust-tools venv-tests
	@build/venv/bin/python tests/run.py --set-up $(PARTS)

mutations: ## mistakes in the code for device memory, one after the other: the tests have to find each (15 minutes)
	@scripts/setup venv-tests
	@scripts/stage
	@build/venv/bin/python tests/fake_driver/mutations

mpich-suite: ## the test suite that comes with MPICH, unmodified, under the ABIs of the standard, MPICH and Open MPI (30 minutes)
	@scripts/stage
	@tests/mpich/run
	@SERRIED_ABI=mpich tests/mpich/run
	@SERRIED_ABI=openmpi tests/mpich/run

applications: ## programs of Debian as they are, in turns with Debian's own MPI; long ones of PyPI: results and times (50 minutes)
	@scripts/setup venv-tests applications
	@scripts/stage
	@build/venv/bin/python tests/applications/run
	@WHOLE=1 build/venv/bin/python -m pytest -q tests/packages/test_pip_programs.py tests/packages/test_pip_suites.py

wheel: ## wheels for `pip install`, for x86-64 and aarch64 with glibc 2.17 or newer, in build/wheel/ (compiles twice)
	@scripts/setup wheel-tools
	@build/zig/bin/python scripts/wheel

deb: all ## a package of Debian, which stands beside other MPIs, in build/deb/
	@scripts/deb

bench: ## side by side with MPICH, Open MPI and Intel MPI (about 15 minutes; BENCH=quick takes 4)
	@scripts/setup venv-bench peers
	@scripts/stage
	@build/venv/bin/python bench/run.py

sweep: ## whole times of random operations, lengths, buffers and roots, side by side (10 minutes; BENCH=quick takes 2)
	@scripts/setup venv-bench peers
	@scripts/stage
	@build/venv/bin/python bench/sweep.py

bench-loaded: ## single calls while other programs load the cores, side by side (8 minutes)
	@scripts/setup venv-bench peers
	@scripts/stage
	@build/venv/bin/python bench/loaded.py

bench-nodes: ## messages, collectives, windows and random cells between hosts made of namespaces, side by side (15 minutes; root only)
	@scripts/setup venv-bench peers
	@scripts/stage
	@build/venv/bin/python bench/nodes.py

bench-energy: ## CPU seconds and time of a solver with uneven parts, side by side (3 minutes)
	@scripts/setup venv-bench peers
	@scripts/stage
	@build/venv/bin/python bench/energy.py

bench-containers: ## latency of ranks that are in containers of their own, and of ranks in none (2 minutes)
	@scripts/setup venv-bench peers
	@scripts/stage
	@build/venv/bin/python bench/containers.py

bench-devices: ## buffers on a GPU beside Intel MPI and what the driver does alone (2 minutes; only where there is one)
	@scripts/setup venv-bench peers
	@scripts/stage
	@build/venv/bin/python bench/devices.py

bench-armci: ## ARMCI beside Debian's ARMCI-MPI: a table and a plot (2 minutes)
	@scripts/setup venv-bench global-arrays
	@scripts/stage
	@build/venv/bin/python bench/armci/run.py

bench-micro: ## times around each threshold of the engine: where both ways should take the same (2 minutes)
	@scripts/stage
	@python3 bench/micro/run.py

clean: ## remove all that was built (stage/, build/, target/)
	rm -rf stage build target

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile
