/**
 * The sender claims due deliveries, sends many at once, and records their outcomes. Any number of workers may run it. A
 * delivery is sent at least once: if its outcome cannot be recorded, it is claimed again when its lease ends.
 */
import type { Db } from "@realtime-avatar/db/connection/pool";
import { type ClaimedDelivery, claimDeliveries } from "@realtime-avatar/db/webhooks/sending";
import type { RandomBytes } from "@realtime-avatar/domain/id";
import { type Logger, limitedWarnings } from "@realtime-avatar/runtime/log";
import type { Metrics } from "@realtime-avatar/runtime/metrics";
import { pause } from "@realtime-avatar/runtime/pause";
import type { Tracing } from "@realtime-avatar/runtime/tracing";
import type { UntilDue } from "../jobs/due-work.ts";
import { errorText } from "../jobs/run-job.ts";
import { createWaking } from "../jobs/waking.ts";
import type { Poster } from "../remote/post.ts";
import { type AttemptClass, attemptDelivery, handedBack } from "./attempt.ts";
import { type ReadyDelivery, withBodies } from "./body.ts";
import { createRecorder, type Finished } from "./record.ts";

/** The durations of the sender. */
export type SenderTiming = {
  /** The pause after a claim that failed. */
  failedMs: number;
  /** How long a claim holds a delivery. */
  leaseSeconds: number;
  /**
   * A delivery is sent only if its lease lasts at least this much longer, for the attempt and the record of its
   * outcome.
   */
  attemptMs: number;
  /** How long deliveries that are being sent may take when the worker stops. Then they are handed back. */
  stopMs: number;
};
export const SENDER_TIMING: SenderTiming = {
  failedMs: 1000,
  leaseSeconds: 60,
  attemptMs: 25_000,
  stopMs: 5000,
};

/**
 * The maximum number of deliveries of one claim. Deliveries that become due meanwhile wait for the handshakes of all of
 * them.
 */
const MAX_BATCH = 50;
/** The maximum number of deliveries that all workers together may hold at once. */
const PER_ENDPOINT = 8;
const PER_TENANT = 64;
const LEASE_BYTES = 16;

export type SenderOptions = {
  db: Db;
  log: Logger;
  random: RandomBytes;
  metrics: Metrics | null;
  tracing: Pick<Tracing, "record"> | null;
  poster: Poster;
  /** The key that opens the secrets of endpoints. */
  sealingKey: Uint8Array;
  /** Scheme, host and port of the public URLs in bodies. */
  assetOrigin: string;
  userAgent: string;
  /** How many deliveries this process sends at once. */
  sends: number;
  timing: SenderTiming;
  untilDue: UntilDue;
};

export type Sender = {
  /**
   * Stops claiming, waits for the deliveries that are being sent, and hands back those that take too long.
   * `hasCrashed`: their leases run out instead.
   */
  stop(hasCrashed?: boolean): Promise<void>;
};

type Lease = Pick<Finished, "lease" | "leaseEndsAt">;

const SECRET_NOT_READABLE =
  "the secret of a webhook endpoint cannot be opened: WEBHOOK_SECRET_KEY, or DATA_DIR, is not that of the API";

/**
 * The bounds of a claim while `held` of `sends` places are taken. While receivers that do not respond take a quarter of
 * the places, each endpoint has one place; while they take half, each tenant has one.
 */
export const claimBounds = (held: number, sends: number, leaseSeconds: number) => ({
  leaseSeconds,
  limit: Math.min(MAX_BATCH, sends - held),
  perEndpoint: held < sends / 4 ? PER_ENDPOINT : 1,
  perTenant: held < sends / 2 ? PER_TENANT : 1,
});

/** Shows an attempt in the metrics and the traces. */
const observe = (
  { metrics, tracing }: SenderOptions,
  { id, endpointId }: ReadyDelivery,
  attemptClass: AttemptClass,
  durationMs: number,
): void => {
  metrics?.webhookAttempted({ class: attemptClass, durationMs });
  const attributes = { delivery_id: id, endpoint_id: endpointId, outcome: attemptClass };
  tracing?.record("webhook_attempt", Date.now() - durationMs, attributes, attemptClass !== "delivered");
};

/** Starts to send. */
export const startSender = (options: SenderOptions): Sender => {
  const { db, log, random, assetOrigin, sends, timing, untilDue } = options;
  const handBack = new AbortController();
  const running = new Set<Promise<void>>();
  const warn = limitedWarnings(log);
  const { wake, wait } = createWaking();
  // Recording an outcome, not only knowing it, frees a place of its endpoint. The endpoint's next delivery may wait for
  // that.
  const recorder = createRecorder(options, wake);
  let isStopping = false;
  let hasCrashed = false;

  const send = async (delivery: ReadyDelivery, lease: Lease): Promise<void> => {
    if (lease.leaseEndsAt - performance.now() < timing.attemptMs) return;
    const { ended, class: attemptClass, durationMs } = await attemptDelivery(options, delivery, handBack.signal);
    if (attemptClass === "secret_not_readable") warn(SECRET_NOT_READABLE, { endpointId: delivery.endpointId });
    observe(options, delivery, attemptClass, durationMs);
    const { tenantId, id, attemptCount } = delivery;
    if (!hasCrashed) recorder.add({ tenantId, id, attemptCount, ...lease, ...ended });
  };
  const start = (delivery: ReadyDelivery, lease: Lease): void => {
    const ended = send(delivery, lease)
      // The lease then runs out. A failed delivery must not end the worker.
      .catch((error: unknown) =>
        warn("failed to send a delivery", { deliveryId: delivery.id, error: errorText(error) }),
      )
      .finally(() => {
        running.delete(ended);
      });
    running.add(ended);
  };

  /** Starts to send deliveries. A delivery whose body cannot be made is handed back, and does not delay others. */
  const startAll = async (claimed: readonly ClaimedDelivery[], lease: Lease): Promise<void> => {
    try {
      for (const delivery of await withBodies(db, claimed, assetOrigin)) start(delivery, lease);
    } catch (error) {
      if (claimed.length > 1) {
        await Promise.all(claimed.map((delivery) => startAll([delivery], lease)));
        return;
      }
      warn("failed to make the body of an event; retrying", { error: errorText(error) });
      for (const { tenantId, id, attemptCount } of claimed) {
        recorder.add({ tenantId, id, attemptCount, ...lease, ...handedBack(timing.failedMs) });
      }
    }
  };

  /** Claims deliveries and starts to send them. Returns whether more may be due. */
  const claim = async (): Promise<boolean> => {
    const bounds = claimBounds(running.size, sends, timing.leaseSeconds);
    const lease = {
      lease: Buffer.from(random(LEASE_BYTES)).toString("base64url"),
      leaseEndsAt: performance.now() + timing.leaseSeconds * 1000,
    };
    const claimed = await claimDeliveries(db, { lease: lease.lease, ...bounds });
    if (claimed.length === 0) return false;
    await startAll(claimed, lease);
    return claimed.length === bounds.limit;
  };

  const run = async (): Promise<void> => {
    while (!isStopping) {
      try {
        if (running.size >= sends || !(await claim())) await wait(untilDue);
      } catch (error) {
        warn("failed to claim deliveries; retrying", { error: errorText(error) });
        await wait((signal) => pause(timing.failedMs, signal));
      }
    }
  };
  const claiming = run();
  return {
    stop: async (crashed = false) => {
      isStopping = true;
      hasCrashed = crashed;
      wake();
      await claiming;
      const timer = setTimeout(() => handBack.abort(), crashed ? 0 : timing.stopMs);
      await Promise.all(running);
      clearTimeout(timer);
      await recorder.stop();
    },
  };
};
