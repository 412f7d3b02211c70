# Every command is one line of tools/bootstrap.py, which also runs without make (Windows: py tools\bootstrap.py lab).

NAMES := python3 python3.13 python3.12 python3.11 python
STARTER := $(or $(firstword $(foreach name,$(NAMES),$(shell command -v $(name) 2>/dev/null))),$(PYTHON))
NO_PYTHON = echo "No Python here. Install Python 3.11, 3.12 or 3.13: https://www.python.org/downloads/"; \
	echo "找不到 Python。請安裝 Python 3.11、3.12 或 3.13。"; exit 1;
BOOTSTRAP = $(if $(STARTER),$(STARTER) tools/bootstrap.py,$(NO_PYTHON))

# What a person sets for one call: make lab PYTHON=python3.12 LAB_ARGS="--port=9000"; make test ARGS="-k exercises"
export PYTHON LAB_ARGS

.DEFAULT_GOAL := help
.PHONY: help lab test check mend record verify-gpu take-evidence constraints setup clean

help:  ## this list · 這份清單
	@sed -n 's/^\([a-z-]*\):.*## /\1|/p' $(MAKEFILE_LIST) | while IFS='|' read -r name text; do printf '  make %-14s %s\n' "$$name" "$$text"; done

lab:  ## open the course in JupyterLab (LAB_ARGS= passes options on) · 在 JupyterLab 開啟課程
	@$(BOOTSTRAP) lab

test:  ## run every test (ARGS= passes options on to pytest) · 執行所有測試
	@$(BOOTSTRAP) test $(ARGS)

check:  ## check the form of the notebooks · 檢查筆記本的格式
	@$(BOOTSTRAP) check $(ARGS)

mend:  ## check the notebooks and mend what a tool can mend · 檢查並修正筆記本
	@$(BOOTSTRAP) mend $(ARGS)

record:  ## run the notebooks on this machine and write its evidence · 在本機執行並記錄量測結果
	@$(BOOTSTRAP) record $(ARGS)

verify-gpu:  ## run the whole course on this machine's GPU and pack what was found · 在 GPU 上驗證整個課程並打包結果
	@$(BOOTSTRAP) verify-gpu $(ARGS)

take-evidence:  ## read such an archive (ARGS=) into the course · 讀入打包的驗證結果（ARGS=）
	@$(BOOTSTRAP) take-evidence $(ARGS)

constraints:  ## choose the newest versions that fit and pin them · 更新鎖定的套件版本
	@$(BOOTSTRAP) constraints

setup:  ## only make the environment in .venv · 只建立 .venv 環境
	@$(BOOTSTRAP) setup

clean:  ## remove .venv · 移除 .venv
	@$(BOOTSTRAP) clean
