/**
 * A call with an avatar, as any program makes it: with a key that can do nothing else, is capped, and is revoked when the
 * call is over. Its secret is in the memory of this page alone.
 */
import { ApiProblem, type RealtimeAvatarClient } from "@realtime-avatar/client";
import type { Environment } from "../api/client.ts";
import { CALL_KEY_NAME, TRIAL_MINUTES } from "./trial.ts";

/** What the key may spend: so many seconds of a call. */
const CAP_SECONDS = 600;
/** The default price, until the tenant has had a call. */
const DEFAULT_PRICE = 1_000_000;

export type CallKey = { id: string; environment: Environment; secret: string };

/** What the page reads of the grant of a call. */
export type Grant = {
  session_id: string;
  livekit_url: string;
  participant_token: string;
  max_session_seconds: number;
  ignored: string[];
};

/** Asked for with each call, so that `ignored` of the grant says what the service can do: `capabilities` with a language model, `transcription` with a recognizer. */
const PROBES = { capabilities: [], transcription: {} };

type Queued = { queue_position: number; queue_size: number; queue_ticket_id: string; recommended_retry_ms: number };

/** Creates the key, as the person who is signed in. */
export const createKey = async (client: RealtimeAvatarClient, environment: Environment): Promise<CallKey> => {
  const { data, response } = await client.GET("/api/v1/usage/sessions", { params: { query: { limit: 1 } } });
  const price = data.data[0]?.priceCreditMicrosPerSecond ?? DEFAULT_PRICE;
  // The clock of the service: that of this device can be wrong.
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
 * Revokes the key, which also ends its call. `keepalive`: the request goes out although the page is being closed. If it fails,
 * the key expires by itself.
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
 * Starts a call, and waits for its turn while all slots are in use. `onQueued` is told the place. Throws the problem of a refusal,
 * and the reason of `signal`, which gives the place up.
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
