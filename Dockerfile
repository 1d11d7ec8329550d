# The API, the worker and the command line, each as a single program.
# Both base images can be pinned by their digests: see docs/deployment.md.
ARG BUN_IMAGE=oven/bun:1.4.5
ARG RUNTIME_IMAGE=debian:bookworm-slim

FROM $BUN_IMAGE AS build
WORKDIR /src
# The manifests first, so that the layer of the packages changes only with them.
COPY package.json bun.lock bunfig.toml ./
COPY patches patches
COPY apps/api/package.json apps/api/
COPY apps/worker/package.json apps/worker/
COPY packages/client/package.json packages/client/
COPY packages/db/package.json packages/db/
COPY packages/domain/package.json packages/domain/
COPY packages/runtime/package.json packages/runtime/
# The optional packages are the embedded PostgreSQL, which the programs do not use.
RUN bun install --frozen-lockfile --production --omit=optional
COPY apps apps
COPY packages packages
COPY scripts scripts
RUN bun run compile

FROM $RUNTIME_IMAGE
LABEL org.opencontainers.image.title="Realtime Avatar Service" \
      org.opencontainers.image.description="Issues API keys and creates avatars for a realtime-avatar platform." \
      org.opencontainers.image.licenses="MIT"
COPY --from=build /src/dist/bin/ /usr/local/bin/
COPY --from=build /src/dist/THIRD_PARTY_NOTICES.txt /usr/share/doc/realtime-avatar/
# A container must listen on all addresses. The programs write no file, so the root file system can be read-only.
ENV HOST=0.0.0.0
# As a number, so that Kubernetes can check that it is not root.
USER 65532:65532
EXPOSE 3000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s CMD ["realtime-avatar", "health"]
CMD ["realtime-avatar-api"]
