/**
 * A call with an avatar, started like by a program: with a capped key that is limited to calls, and is revoked after
 * the call. Only the memory of this page contains its secret.
 */
import { ApiProblem, type RealtimeAvatarClient } from "@realtime-avatar/client";
import type { Environment } from "../api/client.ts";
import { CALL_KEY_NAME, TRIAL_MINUTES } from "./trial.ts";

/** The cap of the key, in seconds of a call. */
const CAP_SECONDS = 600;
/** The default price, used before the tenant's first call. */
const DEFAULT_PRICE = 1_000_000;

export type CallKey = { id: string; environment: Environment; secret: string };

/** The part of a call's grant that the page reads. */
export type Grant = {
  session_id: string;
  livekit_url: string;
  participant_token: string;
  max_session_seconds: number;
  ignored: string[];
};

/**
 * Fields that are requested in each call to detect features: the service ignores `capabilities` without a language
 * model, and `transcription` without a recognizer. The grant lists ignored fields in `ignored`.
 */
const PROBES = { capabilities: [], transcription: {} };

type Queued = { queue_position: number; queue_size: number; queue_ticket_id: string; recommended_retry_ms: number };

/** Creates the key as the signed-in person. */
export const createKey = async (client: RealtimeAvatarClient, environment: Environment): Promise<CallKey> => {
  const { data, response } = await client.GET("/api/v1/usage/sessions", { params: { query: { limit: 1 } } });
  const price = data.data[0]?.priceCreditMicrosPerSecond ?? DEFAULT_PRICE;
  // The clock of the service is used, because the clock of this device can be wrong.
  const now = Date.parse(response.headers.get("date") ?? "") || Date.now();
  const created = await client.POST("/api/v1/api-keys", {
    body: {
      name: CALL_KEY_NAME,
      environment,
      scopes: ["realtime:write"],
      spendLimitCreditMicros: CAP_SECONDS * price,
      maxConcurrentSessions: 1,
      expiresAt: new Date(now + TRIAL_MINUTES * 60_000).toISOString(),
    },
  });
  return { id: created.data.id, environment, secret: created.data.apiKey ?? "" };
};

/**
 * Revokes the key, which also ends its call. `keepalive`: the request is sent although the page is closing. If it
 * fails, the key expires by itself.
 */
export const revokeKey = ({ id, environment }: CallKey): Promise<unknown> =>
  fetch(`/api/v1/api-keys/${id}`, {
    method: "DELETE",
    headers: { "realtime-avatar-environment": environment },
    keepalive: true,
  }).catch(() => {});

const send = ({ secret }: CallKey, path: string, body: object): Promise<Response> =>
  fetch(`/api/v1/realtime/livekit/session${path}`, {
    method: "POST",
    credentials: "omit",
    headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });

export const releaseCall = (key: CallKey, session_id: string): Promise<unknown> =>
  send(key, "/release", { session_id, reason: "manual" }).catch(() => {});

/**
 * Starts a call, and waits for its turn while all slots are in use. `onQueued`: gets the place in the queue. Throws the
 * problem of a refusal. When `signal` aborts, gives the place up and throws the reason.
 */
export const startCall = async (
  key: CallKey,
  avatarId: string,
  { signal, onQueued }: { signal: AbortSignal; onQueued: (position: number, size: number) => void },
): Promise<Grant> => {
  for (let ticket: string | undefined; ; ) {
    const response = await send(key, "", {
      avatar_id: avatarId,
      ...PROBES,
      ...(ticket && { queue_ticket_id: ticket }),
    });
    const body = await response.json();
    if (response.ok) return body as Grant;
    if (response.status !== 429 || "code" in body) throw new ApiProblem(body);
    const { queue_ticket_id, queue_position, queue_size, recommended_retry_ms } = body as Queued;
    ticket = queue_ticket_id;
    onQueued(queue_position, queue_size);
    await new Promise((resolve) => setTimeout(resolve, recommended_retry_ms));
    if (signal.aborted) {
      await send(key, "/release", { queue_ticket_id }).catch(() => {});
      signal.throwIfAborted();
    }
  }
};
