# For x86-64. Never built: there was no Docker daemon where it was written. `make slim` runs the same
# installation outside a container.
#   docker build -t rankotom-edge .
#   docker run --rm rankotom-edge
#   docker run --rm --device /dev/video0 -p 127.0.0.1:8000:8000 rankotom-edge \
#     camera --view web --host 0.0.0.0 --port 8000
FROM python:3.11-slim-bookworm AS install
WORKDIR /src
RUN python -m venv /opt/rankotom-edge
COPY constraints.txt slim.txt ./
RUN /opt/rankotom-edge/bin/pip install --no-cache-dir --no-deps -c constraints.txt -r slim.txt
COPY LICENSE pyproject.toml ./
COPY docs/package.md docs/
COPY calib calib/
COPY export export/
COPY rankotom_edge rankotom_edge/
COPY train train/
RUN /opt/rankotom-edge/bin/pip install --no-cache-dir --no-deps .

FROM python:3.11-slim-bookworm
# What the OpenCV and MediaPipe wheels need from the system.
# hadolint ignore=DL3008
RUN apt-get update \
 && apt-get install -y --no-install-recommends \
      libegl1 libgl1 libgles2 libglib2.0-0 libsm6 libxcb1 \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --uid 1000 --create-home --groups video rankotom-edge
COPY --from=install /opt/rankotom-edge /opt/rankotom-edge
USER 1000
WORKDIR /home/rankotom-edge
ENTRYPOINT ["/opt/rankotom-edge/bin/rankotom-edge"]
CMD ["camera", "--source", "demo", "--view", "none", "--frames", "60"]
