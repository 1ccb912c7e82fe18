# The image of the webhook, the controller and the CLI: docker build -t modelfit .
#
# Every Python package is installed by version and hash, from requirements.lock (`make lock`). The base image is a tag,
# which its publisher moves to each security fix. `make image` resolves it to a digest, builds from that digest and
# records it in the label org.opencontainers.image.base.name.
ARG PYTHON_IMAGE=python:3.13-slim-trixie

FROM ${PYTHON_IMAGE} AS build
WORKDIR /src
COPY requirements.lock requirements-build.lock ./
# Without pip in the environment. Wheels only, so that no code of a package runs here.
RUN python -m venv --without-pip /opt/modelfit \
    && python -m pip --python /opt/modelfit/bin/python install --no-cache-dir --no-compile --require-hashes \
        --only-binary :all: -r requirements.lock \
    && python -m pip install --no-cache-dir --require-hashes --only-binary :all: -r requirements-build.lock
COPY pyproject.toml README.md LICENSE ./
COPY webhook webhook
COPY certs certs
# Compiled at build time, because the root file system of a pod is read-only.
RUN python -m pip wheel --no-cache-dir --no-deps --no-index --no-build-isolation --wheel-dir /wheels . \
    && python -m pip --python /opt/modelfit/bin/python install --no-cache-dir --no-compile --no-deps --no-index /wheels/*.whl \
    && python -m pip --python /opt/modelfit/bin/python check \
    && /opt/modelfit/bin/python -m compileall -q /opt/modelfit/lib

FROM ${PYTHON_IMAGE}
RUN rm -rf /usr/local/bin/pip* /usr/local/bin/idle* /usr/local/lib/python3.*/site-packages/pip* /usr/local/lib/python3.*/ensurepip
COPY --from=build /opt/modelfit /opt/modelfit
ENV PATH=/opt/modelfit/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1
ARG PYTHON_IMAGE
ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="modelfit" \
      org.opencontainers.image.description="A GPU ResourceClaim for every pod that says which model it runs" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.base.name="${PYTHON_IMAGE}" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
# Any other user id works too: the processes write to memory only.
USER 65532:65532
EXPOSE 8443
# The server runs as process 1 and receives SIGTERM.
ENTRYPOINT ["modelfit"]
CMD ["--help"]
