# Every command first makes .venv, the course's own environment, or brings it up to date. Needs Python 3.11 to 3.14.
# Options for one call: make lab PYTHON=python3.12 LAB_ARGS="--port=9000"; make test ARGS="-k claims"; make check LESSON=05

PYTHON ?= $(shell for name in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$name -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))' 2>/dev/null && echo $$name && break; done)
IN := .venv/bin/python
PIP := $(IN) tools/quietly.py .venv/pip.log $(IN) -m pip install --disable-pip-version-check
PARALLEL := --numprocesses=logical --maxprocesses=4 --dist=loadfile
# Without PYTHONDONTWRITEBYTECODE: hundreds of processes would each compile every module anew.
unexport PYTHONPATH PYTHONHOME PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help lab test test-nightly machines check fix record editions slides site verify-gpu take-evidence constraints clean

help:  ## this list · 列出所有指令
	@sed -n 's/^\([a-z-]*\):.*## /\1|/p' Makefile | while IFS='|' read -r name text; do printf '  make %-14s %s\n' "$$name" "$$text"; done

lab: .venv/lab  ## open your own copy of the course in JupyterLab (LAB_ARGS= passes options on) · 在 JupyterLab 開啟你自己的課程複本
	@$(IN) -m tools.my_course
	@$(IN) -m tools.open_lab $(LAB_ARGS)

test: .venv/test  ## run every test (ARGS= passes options on to pytest) · 執行所有測試
	@$(IN) -m pytest $(or $(ARGS),$(PARALLEL))

test-nightly: .venv/test  ## run every test, the slow rehearsals too · 執行所有測試，包括耗時的測試
	@$(IN) -m pytest $(PARALLEL) -m "" $(ARGS)

machines: .venv/test  ## run the lessons on staged machines (ARGS=--list; ARGS="oldest-cpu no-fonts") · 在各種模擬的機器上執行課程（ARGS=--list）
	@$(IN) -m tools.machines $(ARGS)

# The cells of lessons 06 to 08 take longest, so `make check LESSON=06` leaves their cells to `make test`.
FILES = $(wildcard notebooks/$(LESSON)_*.ipynb notebooks/lesson_$(LESSON))
TESTS = tests/lessons $(filter-out notebooks/06_% notebooks/07_% notebooks/08_%,$(filter %.ipynb,$(FILES))) -k "lesson_$(LESSON) or $(LESSON)_ or $(LESSON)/ or [$(LESSON)] or [$(LESSON)-$(if $(filter 08,$(LESSON)), or test_capstone)"
check: .venv/test  ## check the form of all texts and the style, or one lesson in a few minutes (LESSON=05) · 檢查文字與格式（LESSON=05：只檢查一課，需要幾分鐘）
	@$(if $(LESSON),$(if $(FILES),,$(error There is no lesson $(LESSON); give two digits, for example LESSON=05)))
	@$(IN) -m tools.check $(if $(LESSON),$(FILES)); form=$$?; \
		$(IN) -m pytest --quiet $(if $(LESSON),$(PARALLEL) $(TESTS),tests/test_style.py) && exit $$form

fix: .venv/test  ## check the notebooks and fix what a tool can fix · 檢查並修正筆記本
	@$(IN) -m tools.check --fix notebooks $(ARGS)

record: .venv/test  ## run the notebooks on this machine and store its results · 在本機執行並記錄量測結果
	@$(IN) -m tools.record $(ARGS)

editions: .venv/test  ## write the lessons in one language to build/editions (ARGS=--execute: also run them) · 把單一語言的筆記本寫到 build/editions（ARGS=--execute：寫完並執行）
	@$(IN) -m tools.editions $(ARGS)

slides: .venv/test  ## write slides of the lessons to build/slides (ARGS="01 --language en") · 把投影片寫到 build/slides（ARGS="01 --language zh-TW"）
	@$(IN) -m tools.slides $(ARGS)

site: .venv/test  ## write the website to build/site (ARGS="01 05 --languages en") · 把網站寫到 build/site（ARGS="01 05 --languages zh-TW"）
	@$(IN) -m tools.site $(ARGS)

verify-gpu: .venv/test  ## run the whole course on this machine's GPU and pack the results · 在 GPU 上驗證整個課程並打包結果
	@$(IN) -m tools.verify_gpu $(ARGS)

take-evidence: .venv/test  ## read such an archive (ARGS=) into the course · 讀入打包的驗證結果（ARGS=）
	@$(IN) -m tools.take_evidence $(ARGS)

constraints: .venv/test  ## pin versions for changed dependencies (ARGS=--upgrade: the newest of all) · 更新鎖定的套件版本
	@cp constraints.txt .venv/constraints.txt
	$(IN) -m uv pip compile --quiet --universal --python-version=3.11 --fork-strategy=fewest --extra=test --extra=hub \
		--no-header --no-annotate --output-file=.venv/constraints.txt $(ARGS) pyproject.toml
	@{ grep '^#' constraints.txt; grep -vE '^(#|nvidia-[^m]|cuda|triton)' .venv/constraints.txt; } > .venv/new && mv .venv/new constraints.txt
	$(IN) -m uv pip compile --quiet --universal --python-version=3.11 --fork-strategy=fewest --extra=test --generate-hashes \
		--no-header --no-annotate --constraints=constraints.txt --output-file=.venv/hashes.txt pyproject.toml
	@awk '/^[^ ]/ { keep = !/^(torch=|nvidia-[^m]|cuda|triton)/ } keep' .venv/hashes.txt > .ci/hashes.txt

clean:  ## remove what these commands made; your own work stays · 移除這些指令產生的檔案，你自己的內容都會保留
	rm -rf .venv .machines build dist gpu-runs test-results .pytest_cache .ruff_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
	@echo "Your own work stays: my_course, notebooks/mine, notebooks/results, and settings and results of exercises in your home."
	@echo "你自己的內容都還在：my_course、notebooks/mine、notebooks/results，以及家目錄裡的設定與練習紀錄。"

# --- the environment: .venv/lab and .venv/test are touched when everything is installed ---------------------------

# HASHES names a file with the hash of each package (.ci/hashes.txt, for CI): nothing else is installed before torch, which has
# a build for each kind of GPU and brings what belongs to it.

# Make it again if its Python is gone, its first installation was interrupted, or the folder was moved. Otherwise it is
# only added to, since a JupyterLab may be running in it. What is added to may be half installed: `unfinished`.
USABLE := $(shell [ -x $(IN) ] && { [ ! -e .venv/unfinished ] || [ -e .venv/lab ] || [ -e .venv/test ]; } && \
	[ "$$(cat .venv/folder 2>/dev/null || pwd -P)" = "$$(pwd -P)" ] && echo yes)
ifneq ($(USABLE)$(wildcard .venv/unfinished),yes)
.PHONY: .venv/lab .venv/test
endif

.venv/lab .venv/test: pyproject.toml constraints.txt tools/jupyterlab_defaults.json
ifneq ($(USABLE),yes)
	@$(or $(PYTHON),false) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "This course needs Python 3.11 to 3.14: https://www.python.org/downloads/ (or: make $(@F) PYTHON=/path/to/python3.12)"; \
		echo "本課程需要 Python 3.11 到 3.14：https://www.python.org/downloads/（或自行指定：make $(@F) PYTHON=/path/to/python3.12）"; exit 1; }
endif
ifndef COURSE_LOCKED
	@$(if $(USABLE),$(IN),$(PYTHON)) tools/one_at_a_time.py $(MAKE) --silent COURSE_LOCKED=yes $@
else
ifneq ($(USABLE),yes)
	@rm -rf .venv && mkdir .venv && pwd -P > .venv/folder && touch .venv/unfinished
	@$(PYTHON) -m venv .venv || { \
		echo "This Python cannot make a virtual environment. On Debian and Ubuntu: sudo apt install python3-venv"; \
		echo "這個 Python 無法建立虛擬環境。Debian、Ubuntu 請執行：sudo apt install python3-venv"; exit 1; }
endif
	@echo "Installing the course's packages into .venv; the first time takes a few minutes. What pip says is in .venv/pip.log."
	@echo "正在把課程所需的套件安裝到 .venv，第一次需要幾分鐘。pip 的訊息寫在 .venv/pip.log。"
	@touch .venv/unfinished; trap 'exit 130' INT; \
		$(if $(HASHES),$(PIP) --require-hashes --no-deps -r $(HASHES) &&) $(PIP) $(if $(HASHES),--no-build-isolation) -c constraints.txt -e '.[$(@F)]' \
		|| { $(if $(and $(USABLE),$(wildcard .venv/unfinished)),,rm .venv/unfinished;) echo "pip failed, see above. Run the command again; make clean starts from nothing."; \
		echo "pip 執行失敗，原因見上方。請再執行一次；若要從頭開始，請先執行 make clean。"; exit 1; }
	@rm .venv/unfinished && touch $@
endif
