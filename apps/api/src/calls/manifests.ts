/**
 * The manifests of the avatars of calls, which avatar workers get with the calls. The store can be slow, and a file in it can be
 * anything: a manifest is read within a second and up to 64 KiB, and what is late or larger fails its call alone. Of a call that has
 * begun and comes to another worker, the manifest was read before: it has five seconds. A sync waits for a fraction of a second only:
 * a manifest that comes later is in the next response.
 */
import { manifestFile, preparedKey } from "@realtime-avatar/domain/avatars/preparation";
import type { AvatarId, TenantId } from "@realtime-avatar/domain/id";
import type { Storage } from "@realtime-avatar/storage/storage";

export const MAX_MANIFEST_BYTES = 64 * 1024;
/** `read`, `reread`: until a manifest is late, also that of a call that has begun. `remember`: until it is read again. */
export type ManifestTimes = { read: number; reread: number; remember: number };
const TIMES_MS: ManifestTimes = { read: 1000, reread: 5000, remember: 1000 };
/** In parts: a process that was stopped or busy meanwhile reads what has arrived between them, before it decides. */
const READ_PARTS = 4;

export type Manifest = Record<string, unknown>;

/**
 * What became of the reading of a manifest: `read`: null for an avatar without one. `unusable`: the call cannot go on. `failed`: the
 * store has failed, and may be back soon.
 */
export type ManifestOutcome =
  | { kind: "read"; manifest: Manifest | null }
  | { kind: "unusable"; why: "late" | "too large" | "no JSON object" }
  | { kind: "failed"; error: unknown };

/** The avatar of a call that a worker is to start. `manifest`: the id of its manifest. */
type ManifestRequest = {
  tenantId: TenantId;
  sessionId: string;
  generation: number;
  avatarId: AvatarId;
  manifest: string | null;
  usedSeconds: number;
};

const parse = (bytes: Uint8Array): ManifestOutcome => {
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(bytes));
    if (typeof value === "object" && value !== null && !Array.isArray(value)) {
      return { kind: "read", manifest: value as Manifest };
    }
  } catch {}
  return { kind: "unusable", why: "no JSON object" };
};

/**
 * Reads a file. Whatever length the store tells, no more bytes than the limit are kept. `signal` ends the reading, also of a store
 * that has not answered yet: Bun has 256 requests of a process at once, those to LiveKit among them.
 */
export const readManifest = async (
  storage: Pick<Storage, "open">,
  key: string,
  signal: AbortSignal,
): Promise<ManifestOutcome> => {
  const opened = await storage.open(key, undefined, signal);
  if (opened === null) return { kind: "read", manifest: null };
  const reader = opened.stream.getReader();
  const cancel = (): void => void reader.cancel().catch(() => {});
  signal.addEventListener("abort", cancel);
  if (signal.aborted) cancel();
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  for (let { value } = await reader.read(); value !== undefined; { value } = await reader.read()) {
    sizeBytes += value.length;
    if (sizeBytes > MAX_MANIFEST_BYTES) {
      cancel();
      return { kind: "unusable", why: "too large" };
    }
    chunks.push(value);
  }
  return parse(Buffer.concat(chunks));
};

export type Manifests = {
  /** The manifest of the avatar of a call: read once, for all syncs of these seconds. */
  of(call: ManifestRequest): Promise<ManifestOutcome>;
};

export const createManifests = (storage: Pick<Storage, "open">, times: ManifestTimes = TIMES_MS): Manifests => {
  const readings = new Map<string, Promise<ManifestOutcome>>();

  const read = async (key: string, ms: number): Promise<ManifestOutcome> => {
    const reading = new AbortController();
    const waitUntilLate = async (): Promise<ManifestOutcome> => {
      for (let part = 0; part < READ_PARTS; part++) await Bun.sleep(ms / READ_PARTS);
      return { kind: "unusable", why: "late" };
    };
    const outcome = readManifest(storage, key, reading.signal).catch(
      (error: unknown): ManifestOutcome => ({ kind: "failed", error }),
    );
    const first = await Promise.race([outcome, waitUntilLate()]);
    reading.abort();
    return first;
  };

  return {
    of: ({ tenantId, sessionId, generation, avatarId, manifest, usedSeconds }) => {
      const file = manifest === null ? null : manifestFile(manifest);
      if (file === null) return Promise.resolve({ kind: "read", manifest: null });
      const call = `${sessionId} ${generation}`;
      const known = readings.get(call);
      if (known) return known;
      const ms = usedSeconds > 0 ? times.reread : times.read;
      const reading = read(preparedKey({ tenantId, id: avatarId }, file), ms);
      readings.set(call, reading);
      void reading.then(() => setTimeout(() => readings.delete(call), times.remember));
      return reading;
    },
  };
};
