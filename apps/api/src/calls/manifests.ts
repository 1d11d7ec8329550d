/**
 * The manifests of the avatars of calls, which avatar workers get with the calls. The store can be slow. Its files can
 * have any content. A manifest must come within a second and have at most 64 KiB; otherwise its call fails, and no
 * other call. When a call that has begun moves to another worker, its manifest was valid before, so it may take five
 * seconds. A sync waits only for a fraction of a second: a later manifest is in the next response.
 */
import { manifestFile, preparedKey } from "@realtime-avatar/domain/avatars/preparation";
import type { AvatarId, TenantId } from "@realtime-avatar/domain/id";
import type { Storage } from "@realtime-avatar/storage/storage";

export const MAX_MANIFEST_BYTES = 64 * 1024;
/**
 * `read`: the limit for a manifest. `reread`: the limit if the call has begun. `remember`: the time until it is read
 * again.
 */
export type ManifestTimes = { read: number; reread: number; remember: number };
const TIMES_MS: ManifestTimes = { read: 1000, reread: 5000, remember: 1000 };
/**
 * The wait is split into parts. After each part, a process that was stopped or busy first reads the data that has
 * arrived, and then decides.
 */
const READ_PARTS = 4;

export type Manifest = Record<string, unknown>;

/**
 * The outcome of reading a manifest. `read`: null for an avatar without one. `unusable`: the call must end. `failed`:
 * the store has failed, and can recover.
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
 * Reads a file. Keeps at most `maxBytes`, even if the store reports a smaller length. `signal` ends the read, even
 * before the store responds, because Bun limits a process to 256 concurrent requests, including those to LiveKit.
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
  /** The manifest of a call's avatar. It is read once for all syncs within a few seconds. */
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
