# The service: docker build -t kernelrank . && docker run -p 127.0.0.1:8000:8000 -v "$PWD/models:/models:ro" kernelrank
FROM python:3.13-slim AS build
COPY . /source
RUN pip wheel --no-cache-dir --wheel-dir /wheels '/source[serve]'

FROM python:3.13-slim
RUN --mount=type=bind,from=build,source=/wheels,target=/wheels \
    pip install --no-cache-dir --no-index --find-links /wheels 'kernelrank[serve]' \
    && useradd --system --no-create-home ranker
USER ranker
ENV OMP_NUM_THREADS=1 NUMBA_CACHE_DIR=/tmp/numba
VOLUME /models
EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/health', timeout=2)"]
ENTRYPOINT ["kernelrank", "serve"]
CMD ["/models", "--host", "0.0.0.0", "--port", "8000"]
