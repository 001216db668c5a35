# SPDX-License-Identifier: Apache-2.0
# Every target sets up what it needs by itself; a second run reuses it. The work is in tests/run and tests/lab.
# YES=1 installs the system packages without asking (without a terminal nobody is asked either).

PYTHON := $(shell for each in python3 python3.13 python3.12 python3.11 /usr/bin/python3; do \
	"$$each" -c 'import sys; sys.exit(sys.version_info < (3, 9))' 2>/dev/null && echo "$$each" && break; done)
ifeq ($(PYTHON),)
$(error Python >= 3.11 is needed and none was found. Debian and Ubuntu: apt-get install python3 python3-venv)
endif
AGREE := $(if $(YES),--yes)
VENV_PYTHON := .build/venv/bin/python
LANES := lint unit docs package facts sanity older-core

.DEFAULT_GOAL := help
.PHONY: help demo test gpu1 gpu2 molecule changes waves moves replace engine lab bench setup packages clean $(LANES)

help:  ## Say what there is
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 14
	@echo "$(LANES)" | sed 's/ /, /g; s/^/single lanes: make /'

demo: packages  ## Build the lab, deploy a real vLLM engine on it, print its report
	@$(VENV_PYTHON) tests/run/demo.py

test: packages  ## Set up and run all tests
	@$(VENV_PYTHON) tests/run/lanes.py

$(LANES): setup
	@$(VENV_PYTHON) tests/run/lanes.py $@

gpu1 gpu2 molecule changes waves moves replace engine: packages  ## The lab's hosts, then this lane on them
	@$(VENV_PYTHON) tests/run/lanes.py $@

lab: packages  ## Build or reuse the lab's hosts
	@$(VENV_PYTHON) tests/run/lanes.py lab

bench: packages  ## How fast a log of 200 MB is read, how long an audit takes, how long changes interrupt (on gpu2 of the lab)
	@$(VENV_PYTHON) tests/bench/startup_log.py
	@$(VENV_PYTHON) tests/bench/audit.py
	@$(VENV_PYTHON) tests/run/lanes.py lab
	@$(VENV_PYTHON) tests/bench/interruption.py

setup:  ## The Python environment only, in .build
	@$(PYTHON) tests/run/bootstrap.py $(AGREE)

packages:  ## The system packages of the lab, then the environment
	@$(PYTHON) tests/run/bootstrap.py --packages $(AGREE)

clean:  ## Remove containers, volumes, images, environments and the dockerd that was started
	@$(PYTHON) tests/run/clean.py
