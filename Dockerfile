# Runs the demo: docker build -t orexis . && mkdir -p demo && docker run --rm -v "$PWD/demo:/home/orexis/demo" orexis
# (a folder that docker makes would belong to root; of another user than 1000, add --user "$(id -u)" -e HOME=/tmp)
FROM python:3.13-slim

RUN useradd --create-home --uid 1000 orexis
WORKDIR /opt/orexis

# The libraries first: they change less often than Orexis does.
COPY requirements.lock ./
RUN python -m pip install --no-cache-dir --require-hashes --only-binary :all: -r requirements.lock
COPY pyproject.toml README.md LICENSE ./
COPY src ./src
RUN python -m pip install --no-cache-dir --no-index --no-deps --no-build-isolation .

USER orexis
WORKDIR /home/orexis
RUN mkdir demo
ENTRYPOINT ["orexis"]
CMD ["demo", "--out", "demo"]
