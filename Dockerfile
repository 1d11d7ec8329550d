# The API, the worker and the command line, each a single program, with nothing else beside them.
# Both base images can be pinned by their digests: docs/deployment.md says how.
ARG BUN_IMAGE=oven/bun:1.4.5
ARG RUNTIME_IMAGE=debian:bookworm-slim

FROM $BUN_IMAGE AS build
WORKDIR /src
# The manifests first: as long as they stay the same, so does the layer of the packages.
COPY package.json bun.lock bunfig.toml ./
COPY patches patches
COPY apps/api/package.json apps/api/
COPY apps/worker/package.json apps/worker/
COPY packages/client/package.json packages/client/
COPY packages/db/package.json packages/db/
COPY packages/domain/package.json packages/domain/
COPY packages/runtime/package.json packages/runtime/
# The optional packages are the embedded PostgreSQL, which the programs do without.
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
# A container is reached from outside itself. The programs write no file: the root file system can be read-only.
ENV HOST=0.0.0.0
# By its number, so that Kubernetes can see that it is not root.
USER 65532:65532
EXPOSE 3000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s CMD ["realtime-avatar", "health"]
CMD ["realtime-avatar-api"]
