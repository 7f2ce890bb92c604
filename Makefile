# Every target makes what it needs in .venv; a stamp file there makes the second run quick.
#
#   make demo       a first look: a portrait instead of a camera; core install only, no torch
#   make test       make lint, then pytest
#   make lint       ruff, mypy --strict (for Linux, macOS and Windows) and import-linter
#   make pythons    the tests under Python 3.10, 3.11 and 3.12, without those of training
#   make slim       the slim install in a new venv: does the same, on half the disk
#   make package    the wheel and the source distribution, in dist, checked by twine
#   make bench      the time of the live loop and of some commands on this machine
#   make soak       memory, threads and file handles over 20,000 frames
#   make crossings  how often people who cross keep their numbers; needs LFW
#   make load       what twenty clients of the web view cost the loop
#   make faults     lost cameras, kills, full disks and hostile connections, many of each
#   make workers    how much more two workers of analyze read than one; needs two free cores
#   make wheel-test the wheel in an empty environment, with every example; needs PyPI
#   make fuzz       thousands of damaged inputs of every kind, each with limits to time and memory
#   make v4l2       the program on V4L2 cameras of an emulated machine; needs Debian
#   make arm64      the program in an emulated arm64 Debian, compared with this machine; needs Debian
#   make pictures   draw the documents' pictures again, and write their tables
#   make weights    train the teachers and the embedded model, and export it; needs the data, and hours
#   make models     quantize the embedded FP32 model again, checked by the gate; needs FERPlus valid
#   make examples   run the embedded models on FERPlus again, for demo, pictures and tables
#   make table1     the paper's Table 1: all methods from one harness; needs the data, and hours
#   make ablation   what each part of the paper contributes; needs the data sets, and hours

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
CORE   := $(VENV)/.installed-core
DEV    := $(VENV)/.installed-dev

# What `make test` needs beyond the core.
EXTRAS := train,web,streams,analyze,cluster,dev,dev-torch
PYTHONS := 3.10 3.11 3.12

# Predictions of the embedded models for the reporting half of FERPlus valid.
EXAMPLES  := docs/examples
REFERENCE := $(EXAMPLES)/fp32.npz
MODELS    := rankotom_edge/model/embedded
RUN       := runs/student-3-seed5
REPORT    := --dataset ferplus --split valid --half report

# Tests with a real window run alone: a busy machine delays its keys and screenshots.
WINDOW    := $(addprefix tests/rankotom_edge/views/window/,test_view.py test_view_with_camera.py)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test suite lint pythons package slim bench soak crossings load faults fuzz workers \
        wheel-test v4l2 arm64 weights models examples pictures table1 ablation clean system programs \
        emulator

help:
	@sed -n 's/^#   //p' Makefile

demo: $(CORE)
	@echo "A portrait, for 20 seconds, in a window or here. h shows the keys, q ends it."
	@$(BIN)/rankotom-edge camera --source demo --seconds 20
	@printf '%s\n' "" "Try next:" \
	  "  $(BIN)/rankotom-edge camera                 your own camera" \
	  "  $(BIN)/rankotom-edge camera --view web      a page in the browser; first:" \
	  "      $(BIN)/pip install -c constraints.txt -e '.[web]'" \
	  "  $(BIN)/rankotom-edge calibrate              label some of your own faces, to fit the numbers to your camera" \
	  "  $(BIN)/rankotom-edge models                 the models, and how they were measured" \
	  "  $(BIN)/rankotom-edge doctor                 what this machine can do"

test: lint suite

suite: $(DEV) programs
	$(BIN)/python -m pytest $(WINDOW)
	$(BIN)/python -m pytest -n 2 --dist loadfile $(addprefix --ignore ,$(WINDOW))

lint: $(DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict
	$(BIN)/mypy --strict --platform darwin --cache-dir .mypy_cache/darwin
	$(BIN)/mypy --strict --platform win32 --cache-dir .mypy_cache/win32
	$(BIN)/lint-imports --no-logo

pythons:
	@bash tests/pythons.sh $(PYTHONS)

package: $(DEV)
	rm -rf dist
	$(BIN)/python -m build
	$(BIN)/twine check --strict dist/*

slim: | system
	@bash tests/slim.sh $(PYTHON)

bench: $(CORE)
	@$(BIN)/python -m rankotom_edge.bench
	@echo "rankotom-edge --help (the budget is 400 msec):"
	@$(BIN)/python -m timeit -n 1 -r 5 -s "import subprocess" \
	  "subprocess.run(['$(BIN)/rankotom-edge', '--help'], stdout=subprocess.DEVNULL, check=True)"
	@echo "1,000 bootstrap resamples of $(REFERENCE) (the budget for 3,573 faces is 2 sec):"
	@$(BIN)/python -m timeit -n 1 -r 3 \
	  -s "from pathlib import Path; from calib.prediction_files import read_predictions" \
	  -s "from calib.resampling import bootstrap" \
	  -s "predictions = read_predictions(Path('$(REFERENCE)'))" "bootstrap(predictions)"

soak: $(CORE)
	@$(BIN)/python -m rankotom_edge.bench --soak 20000

crossings: $(DEV)
	RANKOTOM_SCENES=32 $(BIN)/python -m pytest -s tests/rankotom_edge/faces/test_tracker_crossings.py

load: $(DEV)
	$(BIN)/python -m pytest -s tests/rankotom_edge/views/web/test_server_load.py

faults: $(DEV) programs
	RANKOTOM_FAULTS=1 $(BIN)/python -m pytest -s tests/faults

workers: $(DEV)
	RANKOTOM_WORKERS=1 $(BIN)/python -m pytest tests/rankotom_edge/analyze/test_throughput.py

wheel-test: system programs
	@bash tests/wheel/run.sh $(PYTHON)

# CASES=500 SEED=7: fewer, and the same ones again.
CASES ?= 6000
fuzz: $(DEV)
	$(BIN)/python -m tests.fuzz --cases $(CASES) $(if $(SEED),--seed $(SEED))

v4l2: $(CORE) emulator
	@bash tests/v4l2/run.sh

# Downloads about 500 MB the first time, into ~/.cache/rankotom-edge/arm64.
arm64: $(CORE)
	@bash tests/arm64/run.sh

# Three teachers from face recognisers' weights, their probabilities, two cycles of the student, and
# a third one with that student among the teachers, which is the embedded model. START holds the
# recognisers' files; README says how to get them. A finished step is skipped, an interrupted one
# continued. Afterwards: make models examples pictures
START    ?= $(HOME)/.cache/rankotom-edge/start
TEACHERS := runs/teacher-dlib-seed0 runs/teacher-dlib-150-seed1 runs/teacher-faceres-seed0
# Not on a CPU with AMX: some virtual machines report AMX and crash when it is used.
BFLOAT16 := $(shell grep -sw avx512_bf16 /proc/cpuinfo | grep -vqw amx_tile && echo --bfloat16)
TRAIN    := $(BIN)/rankotom-edge train --threads 2 $(BFLOAT16)
# glibc would return the activations' memory to the system after every step, and fetch it again.
KEEP_MEMORY := glibc.malloc.mmap_threshold=8589934592:glibc.malloc.trim_threshold=34359738368
weights: export GLIBC_TUNABLES = $(KEEP_MEMORY)
weights: $(DEV) runs/dlib-112.safetensors runs/dlib-150.safetensors runs/faceres-112.safetensors
	$(TRAIN) teacher-dlib --weights runs/dlib-112.safetensors
	$(TRAIN) teacher-dlib-150 --weights runs/dlib-150.safetensors
	$(TRAIN) teacher-faceres --weights runs/faceres-112.safetensors
	$(BIN)/python -m train.teachers.teacher_probabilities $(TEACHERS)
	$(TRAIN) student --weights runs/teacher-dlib-seed0/checkpoint.safetensors
	$(TRAIN) student-2 --weights runs/student-seed2/checkpoint.safetensors
	$(BIN)/python -m train.teachers.teacher_probabilities $(TEACHERS) runs/student-2-seed3
	$(TRAIN) student-3 --weights runs/student-2-seed3/checkpoint.safetensors
	$(BIN)/rankotom-edge export $(RUN) --output $(MODELS)/ferplus-fp32.onnx

runs/%.safetensors: | $(DEV)
	$(BIN)/python -m train.teachers.start_weights $* --files $(START) --to $@

models: $(CORE)
	$(BIN)/rankotom-edge export --int8 --target x86 -o $(MODELS)/ferplus-int8.onnx
	$(BIN)/rankotom-edge export --int8 --target tensorrt -o $(MODELS)/ferplus-int8-s8s8.onnx

examples: $(DEV)
	$(BIN)/rankotom-edge evaluate --model ferplus-fp32 $(REPORT) --save-predictions $(REFERENCE)
	$(BIN)/rankotom-edge evaluate --model ferplus-int8 $(REPORT) --save-predictions $(EXAMPLES)/int8.npz
	$(BIN)/rankotom-edge export $(RUN) --no-mirror --output $(VENV)/no-mirror.onnx
	$(BIN)/rankotom-edge evaluate --model $(VENV)/no-mirror.onnx $(REPORT) \
	  --save-predictions $(EXAMPLES)/no-mirror.npz

pictures: $(DEV) programs
	$(BIN)/python docs/pictures.py $(REFERENCE) $(EXAMPLES)/int8.npz docs/images
	$(BIN)/python docs/tables.py

# From a face recogniser's weights on a third of FERPlus, and from random weights on all of it: about
# two hours of two CPU cores. A finished run is not repeated; --first-seed and --only share the runs
# between processes.
TABLE1 := $(BIN)/python -m train.experiments.table1 $(BFLOAT16)
table1: export GLIBC_TUNABLES = $(KEEP_MEMORY)
table1: $(DEV) runs/dlib-112.safetensors
	$(TABLE1) --start faces --weights runs/dlib-112.safetensors --every 3 --epochs 4 \
	  --json docs/table1-faces.json --plot docs/images/table1-faces.png
	$(TABLE1) --start random --epochs 6 \
	  --json docs/table1-random.json --plot docs/images/table1-random.png
	$(BIN)/python docs/tables.py

ablation: $(DEV)
	$(BIN)/python -m train.experiments.ablation --run runs/ablation --plot docs/images/ablation.png

clean:
	rm -rf $(VENV) build ./*.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis

# --- what the targets need ------------------------------------------------------------------

$(BIN)/python: | system
	$(PYTHON) -m venv $(VENV)

$(CORE): pyproject.toml constraints.txt | system $(BIN)/python
	$(BIN)/python -m pip install --disable-pip-version-check -q -c constraints.txt -e .
	@touch $@

# torch is pinned in constraints.txt: an open range would fetch gigabytes of CUDA.
$(DEV): pyproject.toml constraints.txt | system $(BIN)/python
	$(BIN)/python -m pip install --disable-pip-version-check -q -c constraints.txt \
	  -e '.[$(EXTRAS)]'
	@touch $@ $(CORE)

# Shared libraries that the OpenCV and MediaPipe wheels need from the system, each with its
# Debian package; and ensurepip, which Debian packages apart from Python.
LIBRARIES := libGL.so.1=libgl1 libglib-2.0.so.0=libglib2.0-0 libxcb.so.1=libxcb1 \
             libSM.so.6=libsm6 libEGL.so.1=libegl1 libGLESv2.so.2=libgles2

system:
	@command -v ldconfig >/dev/null || PATH="$$PATH:/usr/sbin:/sbin"; \
	command -v ldconfig >/dev/null || exit 0; \
	missing=""; found=" $$(ldconfig -p | awk '{print $$1}' | tr '\n' ' ')"; \
	for pair in $(LIBRARIES); do \
	  case "$$found" in *" $${pair%%=*} "*) ;; *) missing="$$missing $${pair#*=}";; esac; \
	done; \
	$(PYTHON) -c 'import ensurepip' 2>/dev/null || missing="$$missing python3-venv"; \
	test -n "$$missing" || exit 0; \
	if command -v apt-get >/dev/null && test "$$(id -u)" = 0; then \
	  echo "installing with apt-get:$$missing"; \
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
	    apt-get install -y -qq --no-install-recommends $$missing >/dev/null; \
	else \
	  echo "missing system packages; as root: apt-get install$$missing" >&2; exit 1; \
	fi

# Programs that tests use: a camera (ffmpeg), a screen and its keys, a terminal, a tracer of system
# calls, a browser, an MQTT broker, the shells with completion. A test whose program is missing is
# skipped and says so.
PROGRAMS := ffmpeg=ffmpeg Xvfb=xvfb xdotool=xdotool tmux=tmux strace=strace \
            chromium=chromium chromedriver=chromium-driver openssl=openssl mosquitto=mosquitto \
            zsh=zsh fish=fish

# Programs that emulate a machine with cameras and play video into them.
EMULATOR := qemu-system-x86_64=qemu-system-x86 depmod=kmod cpio=cpio ffmpeg=ffmpeg gcc=gcc

# $(1): pairs program=package; $(2) and $(3): the message and the exit status without the right to
# install them.
define install_missing
@PATH="$$PATH:/usr/sbin:/sbin"; missing=""; for pair in $(1); do \
  command -v $${pair%%=*} >/dev/null || missing="$$missing $${pair#*=}"; \
done; \
test -n "$$missing" || exit 0; \
if command -v apt-get >/dev/null && test "$$(id -u)" = 0; then \
  echo "installing with apt-get, for the tests:$$missing"; \
  apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends $$missing >/dev/null; \
else \
  echo "$(2); as root: apt-get install$$missing"; exit $(3); \
fi
endef

programs:
	$(call install_missing,$(PROGRAMS),some tests will skip,0)

emulator:
	$(call install_missing,$(EMULATOR),missing system packages,1)
