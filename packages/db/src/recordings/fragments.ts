/** The stored fragments of recorded calls. */
import type { SessionId, TenantId } from "@realtime-avatar/domain/id";
import { MAX_RECORDING_BYTES } from "@realtime-avatar/domain/recordings/files";
import { findFragmentOwner as callFind, writeFragment as callWrite } from "../../generated/functions.ts";
import type { Runner } from "../connection/batch.ts";
import { requireKind } from "../idempotency/idempotency-keys.ts";

/** A fragment that a worker sends for a call that it has at this generation. */
export type SentFragment = {
  workerId: string;
  sessionId: SessionId;
  generation: number;
  n: number;
  sizeBytes: number;
};

/** The reason why a fragment is not written: see accept_fragment.sql. */
export type FragmentRefusal = "stored" | "full" | "foreign" | "closed";

const REFUSALS = ["stored", "full", "foreign", "closed"] as const;

/** Whether a fragment can be stored now, and for which tenant. One statement without locks: `writeFragment` decides. */
export const findFragmentOwner = async (
  db: Runner,
  fragment: SentFragment,
): Promise<{ kind: "open"; tenantId: TenantId } | { kind: FragmentRefusal }> => {
  const [row] = await callFind(db, { ...fragment, maxBytes: MAX_RECORDING_BYTES });
  const kind = requireKind(row?.outcome ?? null, ["open", ...REFUSALS] as const);
  return kind === "open" ? { kind, tenantId: row?.tenantId as TenantId } : { kind };
};

/** Records that a fragment is stored. One statement. */
export const writeFragment = async (db: Runner, fragment: SentFragment): Promise<"written" | FragmentRefusal> => {
  const [row] = await callWrite(db, { ...fragment, maxBytes: MAX_RECORDING_BYTES });
  return requireKind(row?.result ?? null, ["written", ...REFUSALS] as const);
};
