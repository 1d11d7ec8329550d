/** Sends the fragments of the recording of a call to the service, one after another. */

import type { AssignedCall } from "@realtime-avatar/domain/calls/worker-sync";
import { MAX_FRAGMENT_BYTES } from "@realtime-avatar/domain/recordings/fragment";
import type { Logger } from "@realtime-avatar/runtime/log";
import { createMeter, type Limit } from "../meter.ts";
import type { FromCallProcess } from "../process/messages.ts";
import type { CallWatcher } from "./call-parts.ts";
import { RefusedRequest, type Service } from "./service.ts";

/**
 * Maximum number of fragments that wait while the service does not respond: a minute of a call, whose lease ends
 * earlier.
 */
const MAX_WAITING = 6;
/** A process sends a fragment every ten seconds, and one at its end. */
const MAX_BYTES: Limit = { burst: 4 * MAX_FRAGMENT_BYTES, perSecond: MAX_FRAGMENT_BYTES / 5 };
/** The pause after a request that has failed. */
const RETRY_MS = 500;
/** The service takes fragments for this long after the end of a call. A worker that stops waits for a shorter time. */
const TIMES_MS = { wait: 2000, last: 10_000 };
/** Responses after which the same request can succeed: the secret is being changed, or the service has too much to do. */
const TEMPORARY_STATUSES: readonly number[] = [401, 408, 429];

export type RecordingSender = {
  /** Takes the messages of the call's process about the recording. */
  receive(message: Extract<FromCallProcess, { kind: "fragment" | "told" | "unrecorded" }>): void;
  /** Whether the person knows that the call is recorded. */
  isTold(): boolean;
  /** Ends the recording. Resolves when all fragments are sent, or after two seconds. */
  finish(): Promise<void>;
};

type SenderParts = {
  service: Pick<Service, "fragment">;
  log: Logger;
  watcher: Pick<CallWatcher, "fragmentSent" | "fragmentLost"> | null;
};

const isFinal = (error: unknown): error is RefusedRequest =>
  error instanceof RefusedRequest && error.status < 500 && !TEMPORARY_STATUSES.includes(error.status);

/** Returns null for a call that is not recorded. `times`: for tests. */
export const createRecordingSender = (
  { recording, session_id, generation }: AssignedCall,
  { service, log, watcher }: SenderParts,
  times = TIMES_MS,
): RecordingSender | null => {
  if (recording === undefined) return null;
  const countBytes = createMeter(MAX_BYTES);
  let waiting: { n: number; bytes: Uint8Array }[] = [];
  let count = 0;
  let isTold = false;
  let isRefused = false;
  let endsAt = Number.POSITIVE_INFINITY;
  let sending: Promise<void> | null = null;

  const lose = (lost: number, why: object): void => {
    if (lost === 0) return;
    log.warn({ fragments: lost, ...why }, "a part of a recording is lost");
    for (let index = 0; index < lost; index++) watcher?.fragmentLost();
  };
  const dropAll = (why: object): void => {
    lose(waiting.length, why);
    waiting = [];
  };
  const sendFirst = async ({ n, bytes }: { n: number; bytes: Uint8Array }): Promise<void> => {
    try {
      await service.fragment(session_id, { generation, n }, bytes);
      waiting.shift();
      watcher?.fragmentSent();
    } catch (error) {
      isRefused = isFinal(error);
      if (isFinal(error)) dropAll({ status: error.status, code: error.code });
      else await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  };
  const send = async (): Promise<void> => {
    for (let first = waiting[0]; first; first = waiting[0]) {
      if (performance.now() > endsAt) return dropAll({ reason: "the service has not answered" });
      await sendFirst(first);
    }
  };
  const start = (): Promise<void> => {
    sending ??= send().finally(() => {
      sending = null;
    });
    return sending;
  };
  const isAllowed = (bytes: Uint8Array): boolean => {
    try {
      countBytes(bytes.length);
      return waiting.length < MAX_WAITING;
    } catch {
      return false;
    }
  };
  const add = (bytes: Uint8Array): void => {
    if (isRefused) lose(1, { reason: "the service has refused one" });
    else if (!isAllowed(bytes)) lose(1, { reason: "too much waits" });
    else {
      waiting.push({ n: count++, bytes });
      void start();
    }
  };
  return {
    receive: (message) => {
      if (message.kind === "fragment") add(message.bytes);
      else if (message.kind === "told") isTold = true;
      else log.warn({ cause: message.cause }, "a call is not recorded any more");
    },
    isTold: () => isTold,
    finish: async () => {
      endsAt = Math.min(endsAt, performance.now() + times.last);
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, times.wait);
      });
      await Promise.race([start(), late]);
      clearTimeout(timer);
    },
  };
};
