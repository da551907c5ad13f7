# docker build -t wilkins . && docker run --rm -v "$PWD/runs:/work/runs" wilkins train --name first
FROM python:3.12-slim
WORKDIR /opt/wilkins
COPY . .
# The CPU build of torch; for a GPU, build with --build-arg CONSTRAINTS= and run with --gpus all.
ARG CONSTRAINTS="-c constraints.txt"
RUN pip install --no-cache-dir $CONSTRAINTS . && mkdir -p /work
ENV OMP_NUM_THREADS=1
WORKDIR /work
ENTRYPOINT ["wilkins"]
