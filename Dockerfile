# The API, the worker and the command line, each as a single program; and, by --target=avatar-worker, an image with the avatar
# worker.
# Both base images can be pinned by their digests: see docs/deployment.md.
ARG BUN_IMAGE=oven/bun:1.4.5
ARG RUNTIME_IMAGE=debian:bookworm-slim

FROM $BUN_IMAGE AS build
WORKDIR /src
# The manifests first, so that the layer of the packages changes only with them.
COPY package.json bun.lock bunfig.toml ./
COPY patches patches
COPY apps/api/package.json apps/api/
COPY apps/avatar-worker/package.json apps/avatar-worker/
COPY apps/cli/package.json apps/cli/
COPY apps/dashboard/package.json apps/dashboard/
COPY apps/worker/package.json apps/worker/
COPY packages/client/package.json packages/client/
COPY packages/db/package.json packages/db/
COPY packages/domain/package.json packages/domain/
COPY packages/face/package.json packages/face/
COPY packages/livekit/package.json packages/livekit/
COPY packages/runtime/package.json packages/runtime/
COPY packages/speech/package.json packages/speech/
COPY packages/storage/package.json packages/storage/
COPY packages/testing/package.json packages/testing/
COPY packages/video/package.json packages/video/
# The optional packages are the libraries of sharp for this platform, and the embedded PostgreSQL, which the programs do not
# use: its scripts need not run.
RUN bun install --frozen-lockfile --production --ignore-scripts
COPY apps apps
COPY packages packages
COPY scripts scripts
COPY docs docs
RUN bun run compile

FROM $RUNTIME_IMAGE AS avatar-worker
LABEL org.opencontainers.image.title="Avatar worker of the Realtime Avatar Service" \
      org.opencontainers.image.description="Joins calls on LiveKit and publishes the avatar." \
      org.opencontainers.image.licenses="MIT"
# The certificates by which it verifies the service and LiveKit.
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates && rm -rf /var/lib/apt/lists/*
COPY --from=build /src/dist/avatar-worker/bin/ /usr/local/bin/
COPY --from=build /src/dist/avatar-worker/lib/ /usr/local/lib/
COPY --from=build /src/dist/bin/realtime-avatar /usr/local/bin/
COPY --from=build /src/dist/THIRD_PARTY_NOTICES.txt /usr/share/doc/realtime-avatar/
ENV HOST=0.0.0.0 RUST_LOG=off
USER 65532:65532
EXPOSE 3002
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s CMD ["realtime-avatar", "health", "--avatar-worker"]
CMD ["realtime-avatar-avatar-worker"]

FROM $RUNTIME_IMAGE
LABEL org.opencontainers.image.title="Realtime Avatar Service" \
      org.opencontainers.image.description="Issues API keys and creates avatars for a realtime-avatar platform." \
      org.opencontainers.image.licenses="MIT"
# For a frame of each video. Without it, videos are accepted by their container alone.
RUN apt-get update && apt-get install -y --no-install-recommends ffmpeg && rm -rf /var/lib/apt/lists/*
COPY --from=build /src/dist/bin/ /usr/local/bin/
# Shared libraries of the worker, which finds them relative to its program.
COPY --from=build /src/dist/lib/ /usr/local/lib/
COPY --from=build /src/dist/THIRD_PARTY_NOTICES.txt /usr/share/doc/realtime-avatar/
# The files of assets, unless STORAGE_URL names an S3: mount a volume here that the API and the worker share.
RUN mkdir -m 700 /var/lib/realtime-avatar && chown 65532:65532 /var/lib/realtime-avatar
ENV DATA_DIR=/var/lib/realtime-avatar
# A container must listen on all addresses. The programs write only to DATA_DIR and to the folder for temporary files, so the
# root file system can be read-only.
ENV HOST=0.0.0.0
# As a number, so that Kubernetes can check that it is not root.
USER 65532:65532
EXPOSE 3000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s CMD ["realtime-avatar", "health"]
CMD ["realtime-avatar-api"]
