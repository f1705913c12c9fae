# The one image of Tandem: operator, orderer, replica and standby differ in their command only.
#
# An image with your own job (docs/how-to/build-an-image.md):
#     FROM tandem:0.1.0
#     USER root
#     RUN pip install --no-cache-dir …
#     USER 65532
#     COPY job.py /opt/tandem/work/
ARG BASE=debian:bookworm-slim

# Hadoop's login in the JVM wants a user that has a name. One that the platform chooses gets it when the container starts, by
# libnss-wrapper: see operator/image/entrypoint.sh.
FROM ${BASE} AS base
RUN apt-get update \
 && apt-get install -y --no-install-recommends libnss-wrapper openjdk-17-jre-headless python3 tini \
 && rm -rf /var/lib/apt/lists/* \
 && groupadd --gid 65532 tandem \
 && useradd --uid 65532 --gid 65532 --no-create-home --home-dir /tmp --shell /usr/sbin/nologin tandem

FROM base AS build
RUN apt-get update \
 && apt-get install -y --no-install-recommends python3-venv \
 && rm -rf /var/lib/apt/lists/*
RUN python3 -m venv /opt/tandem
ENV PATH=/opt/tandem/bin:$PATH
WORKDIR /src
# What the code needs is a layer of its own: it is large, and changes seldom. Nobody imports the tests, examples and headers
# that some wheels bring along.
COPY pyproject.toml operator/image/requirements.py ./
RUN python requirements.py operator iceberg postgres rules s3 > requirements.txt \
 && pip install --no-cache-dir --requirement requirements.txt \
 && rm -rf /opt/tandem/lib/python3.*/site-packages/pandas/tests \
           /opt/tandem/lib/python3.*/site-packages/pyarrow/tests \
           /opt/tandem/lib/python3.*/site-packages/pyarrow/include \
           /opt/tandem/lib/python3.*/site-packages/pyspark/examples
# The one jar that a replica needs beside PySpark's, so that it starts without a network and a place to write.
COPY jobs/tandem/__init__.py jobs/tandem/waiting.py jobs/tandem/
COPY jobs/tandem/process/__init__.py jobs/tandem/process/child.py jobs/tandem/process/errors.py jobs/tandem/process/guard.py \
     jobs/tandem/process/
COPY jobs/tandem/engine/__init__.py jobs/tandem/engine/
COPY jobs/tandem/engine/jvm/*.py jobs/tandem/engine/jvm/
# Not every builder knows its own host name, which Spark asks for unless it is given an address.
RUN SPARK_LOCAL_IP=127.0.0.1 PYTHONPATH=jobs python -m tandem.engine.jvm --file-system /opt/tandem/jars
COPY LICENSE README.md ./
COPY jobs jobs
COPY operator/tandem_operator operator/tandem_operator
RUN pip install --no-cache-dir --no-deps . \
 && mkdir -p /opt/tandem/work \
 && ln -s "$(python -c 'from tandem.engine.jvm.pyspark_files import spark_home; print(spark_home())')" /opt/tandem/spark
# Tandem's Java classes, compiled; and Spark's and these, parsed once: a replica starts a third sooner.
RUN export SPARK_LOCAL_IP=127.0.0.1 TANDEM_SPARK_JARS=/opt/tandem/jars \
 && python -m tandem.engine.jvm.classes --folder /opt/tandem/jars \
 && python -m tandem.engine.class_archive
COPY operator/image/entrypoint.sh /opt/tandem/bin/entrypoint

FROM base
LABEL org.opencontainers.image.title="Tandem" \
      org.opencontainers.image.description="PySpark streaming jobs in active replicas: operator and runtime" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /opt/tandem /opt/tandem
# Nothing here is written at run time but /tmp and /dev/shm. SPARK_LOCAL_DIRS is not set on purpose: it would win over the
# folder in memory that each replica gives to Spark.
ENV PATH=/opt/tandem/bin:$PATH \
    HOME=/tmp \
    LANG=C.UTF-8 \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    SPARK_HOME=/opt/tandem/spark \
    TANDEM_SPARK_JARS=/opt/tandem/jars
WORKDIR /opt/tandem/work
USER 65532:65532
ENTRYPOINT ["/usr/bin/tini", "--", "/opt/tandem/bin/entrypoint"]
CMD ["tandem", "--help"]
