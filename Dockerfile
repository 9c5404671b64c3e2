# The pipeline with its tested versions (docs/cluster.md).
FROM python:3.11-slim
COPY envs/requirements.txt /tmp/requirements.txt
RUN pip install --no-cache-dir --requirement /tmp/requirements.txt
COPY . /tmp/lextables
RUN pip install --no-cache-dir --no-deps /tmp/lextables && rm -r /tmp/lextables
# Results and caches are written to the folder that is mounted here.
# The user of `docker run --user` has no name and no home.
ENV HOME=/work USER=lextables
WORKDIR /work
ENTRYPOINT ["lextables"]
CMD ["--help"]
