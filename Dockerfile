# syntax=docker/dockerfile:1
# The daemon's image: a build stage with a compiler, a final stage without one.
#
#   docker build --build-arg BASE=docker.io/library/python:3.11-slim-bookworm@sha256:<digest> -t cruxbox .
#
# BASE has no default on purpose: a tag is not a version. Name the digest (deploy/README.md says how to find it). Any
# Debian-like base with Python 3.9+, its venv module and libseccomp.so.2 will do; both stages use the same one, because
# the virtual environment links to its interpreter.
#checkov:skip=CKV_DOCKER_7:the base is named by an argument, with its digest
#checkov:skip=CKV_DOCKER_2:health is asked over gRPC by the orchestrator; Kubernetes ignores HEALTHCHECK
ARG BASE

# ---- build: compiler, headers, wheel, virtual environment --------------------------------------------------------
FROM ${BASE} AS build
# python3-dev brings the headers where python3 is Debian's own; the python images bring theirs and need only gcc.
RUN apt-get update \
 && headers="$(python3 -c 'import sys; print("python3-dev" if sys.prefix == "/usr" else "gcc")')" \
 && apt-get install --yes --no-install-recommends gcc libc6-dev "${headers}" \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY deploy/image/requirements-build.txt deploy/image/requirements-server.txt deploy/image/
# Every dependency is pinned by version and hash; wheels only, so that nobody else's build script runs here.
RUN python3 -m venv /build \
 && /build/bin/python -m pip install --no-cache-dir --require-hashes --only-binary :all: \
      -r deploy/image/requirements-build.txt \
 && python3 -m venv --without-pip /opt/cruxbox \
 && /build/bin/python -m pip --python /opt/cruxbox/bin/python install --no-cache-dir --require-hashes \
      --only-binary :all: -r deploy/image/requirements-server.txt
COPY pyproject.toml README.md LICENSE hatch_build.p[y] ./
COPY proto proto
COPY client client
COPY sandbox sandbox
# The native helper is compiled here; without it the daemon still works, slower, so its absence fails the build.
RUN /build/bin/python -m pip wheel --no-cache-dir --no-deps --no-build-isolation --wheel-dir /wheels . \
 && /build/bin/python -m pip --python /opt/cruxbox/bin/python install --no-cache-dir --no-deps /wheels/*.whl \
 && /opt/cruxbox/bin/python -c 'import cruxcell.native._native, pyseccomp'

# ---- final: the base, the virtual environment, nothing else ------------------------------------------------------
FROM ${BASE}
LABEL org.opencontainers.image.title="cruxbox" \
      org.opencontainers.image.description="Sandbox daemon that scores model-written Python" \
      org.opencontainers.image.licenses="MIT"
# no_new_privs makes set-id bits useless anyway; without them a scanner has nothing to report.
RUN find / -xdev -type f -perm /6000 -exec chmod a-s {} +
COPY --from=build /opt/cruxbox /opt/cruxbox
COPY --chmod=0444 deploy/image/probe.py /opt/cruxbox/probe.py
ENV PATH=/opt/cruxbox/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    TMPDIR=/tmp
WORKDIR /
# Numeric, so that Kubernetes can check runAsNonRoot without reading /etc/passwd.
USER 65532:65532
# gRPC and metrics. Health is asked over gRPC (grpc.health.v1) by the orchestrator, so there is no HEALTHCHECK.
EXPOSE 50051 9464
ENTRYPOINT ["cruxboxd"]
# Run with nothing said, the image tells what this host gives. Serving in the open takes an explicit command.
CMD ["preflight"]
