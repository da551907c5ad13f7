# docker build -t wilkins . && docker run --rm -v "$PWD/runs:/work/runs" wilkins train --name first
FROM python:3.12-slim
WORKDIR /opt/wilkins
COPY . .
# PyTorch's CPU build; for a GPU, build with --build-arg TORCH=torch and run with --gpus all.
ARG TORCH="--no-deps -r torch-cpu.txt"
RUN pip install --no-cache-dir $TORCH && pip install --no-cache-dir . && mkdir -p /work
ENV OMP_NUM_THREADS=1
WORKDIR /work
ENTRYPOINT ["wilkins"]
