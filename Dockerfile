# syntax=docker/dockerfile:1
# The image of the webhook, the controller and the CLI: docker build -t modelfit .
#
# All versions are pinned, so that a commit always builds the same image. tests/server/test_image.py compares the list
# with the dependencies in pyproject.toml.
ARG PYTHON=3.13-slim-trixie

FROM python:${PYTHON} AS build
COPY <<EOF /constraints.txt
aiohappyeyeballs==2.7.1
aiohttp==3.14.5
aiohttp-retry==2.9.1
aiosignal==1.4.0
annotated-types==0.8.0
attrs==26.1.0
blinker==1.9.0
certifi==2026.10.19.post1
cffi==2.1.1
charset-normalizer==3.5.3
click==8.5.1
cryptography==50.0.2
durationpy==0.11
flask==3.1.3
frozenlist==1.8.0
gevent==26.9.0
greenlet==3.5.6
gunicorn==27.0.1
idna==3.20
itsdangerous==2.2.0
jinja2==3.1.6
kubernetes==37.0.2
markupsafe==3.0.4
multidict==7.2.1
oauthlib==4.0.1
orjson==3.13.0
prometheus-client==0.26.0
propcache==0.5.4
pycparser==3.12
pydantic==2.14.4
pydantic-core==2.50.5
python-dateutil==4.0.0
pyyaml==6.0.4
requests==2.34.2
requests-oauthlib==2.0.0
typing-extensions==4.16.0
typing-inspection==0.4.5
tzdata==2026.6
urllib3==2.8.0
websocket-client==1.9.2
werkzeug==3.1.9
yarl==1.25.1
zope.event==6.2
zope.interface==8.7
setuptools==80.9.0
EOF

WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY webhook webhook
COPY certs certs
# Without pip in the environment. Compiled at build time, because the root file system of a pod is read-only.
RUN python -m venv --without-pip /opt/modelfit \
    && PIP_CONSTRAINT=/constraints.txt python -m pip --python /opt/modelfit/bin/python install --no-cache-dir --no-compile . \
    && /opt/modelfit/bin/python -m compileall -q /opt/modelfit/lib

FROM python:${PYTHON}
RUN rm -rf /usr/local/bin/pip* /usr/local/bin/idle* /usr/local/lib/python3.*/site-packages/pip* /usr/local/lib/python3.*/ensurepip
COPY --from=build /opt/modelfit /opt/modelfit
ENV PATH=/opt/modelfit/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1
ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="modelfit" \
      org.opencontainers.image.description="A GPU ResourceClaim for every pod that says which model it runs" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
# Any other user id works too: the processes write to memory only.
USER 65532:65532
EXPOSE 8443
# The server runs as process 1 and receives SIGTERM.
ENTRYPOINT ["modelfit"]
CMD ["--help"]
