/**
 * The outcome of each possible end of an attempt. sender.test.ts and hostile.test.ts test the sender with real
 * receivers.
 */
import { describe, expect, test } from "bun:test";
import type { Db } from "@realtime-avatar/db/connection/pool";
import { sealWebhookSecret } from "@realtime-avatar/domain/webhooks/secret";
import { createLog } from "@realtime-avatar/runtime/log";
import { random } from "@realtime-avatar/testing/random-bytes";
import { refused, unavailable } from "../remote/outcome.ts";
import type { Message, Posted, Poster } from "../remote/post.ts";
import { type AttemptOptions, attemptDelivery, handedBack, responseText } from "./attempt.ts";
import type { ReadyDelivery } from "./body.ts";
import { createRecorder, type Finished } from "./record.ts";
import { claimBounds } from "./sender.ts";

const endpointId = "whe_01h455vb4pex5vsknk084sn02q";
const [NEWEST, OLDER] = ["a", "b"].map((digit) => `whsec_${Buffer.from(digit.repeat(32)).toString("base64")}`);
const sealingKey = Buffer.alloc(32, 1);
const sealed = (secret = "", key = sealingKey) => sealWebhookSecret(secret, endpointId, key, random);

type Outcome = Awaited<ReturnType<Poster["post"]>>;
/** Attempts a delivery whose message has this outcome. `sent`: the message. */
const attempt = async (outcome: Outcome, change: Partial<ReadyDelivery> = {}) => {
  const sent: Message[] = [];
  const poster: Poster = {
    post: async (message) => {
      sent.push(message);
      return outcome;
    },
    close: () => {},
  };
  const delivery = { url: "https://a.example/", body: "{}", eventId: "evt_1", endpointId, attemptCount: 0 };
  const secrets = { secret: sealed(NEWEST), previousSecret: null };
  const options: AttemptOptions = { poster, sealingKey, userAgent: "agent" };
  const all = { ...delivery, ...secrets, ...change } as unknown as ReadyDelivery;
  const result = await attemptDelivery(options, all, new AbortController().signal);
  return { ...result, sent };
};
const posted = (status: number, retryAfter?: string, body: Buffer | null = null): Posted => ({
  ...{ kind: "posted", status, retryAfter, body },
});
const SECOND_MS = 1000;

describe("a response", () => {
  test.each([
    [200, "delivered", "delivered"],
    [299, "delivered", "delivered"],
    [300, "redirected", "retry"],
    [399, "redirected", "retry"],
    [400, "refused", "retry"],
    [410, "refused", "gone"],
    [499, "refused", "retry"],
    [500, "failed", "retry"],
  ] as const)("status %d: class %s, outcome %s", async (status, attemptClass, outcome) => {
    const { ended, class: shown } = await attempt(posted(status));
    expect(shown).toBe(attemptClass);
    expect([ended.outcome, ended.attempt?.status, ended.attempt?.error]).toEqual([outcome, status, null]);
    expect(ended.delayMs === null).toBe(outcome !== "retry");
  });

  test("the first failure: tried again in some seconds; the last one: failed", async () => {
    const first = (await attempt(posted(500))).ended;
    expect(first.outcome).toBe("retry");
    expect(first.delayMs).toBeWithin(5 * SECOND_MS, 6 * SECOND_MS + 1);
    const next = (await attempt(posted(500), { attemptCount: 8 })).ended;
    const last = (await attempt(posted(500), { attemptCount: 9 })).ended;
    expect([next.outcome, last.outcome, last.delayMs]).toEqual(["retry", "failed", null]);
    const unreached = (await attempt(unavailable("timed_out", "x"), { attemptCount: 9 })).ended;
    expect([unreached.outcome, unreached.delayMs]).toEqual(["failed", null]);
  });

  test("Retry-After: respected; a status of overload slows the endpoint", async () => {
    const { ended } = await attempt(posted(429, "60"));
    expect(ended).toMatchObject({ outcome: "retry", slowMs: 60 * SECOND_MS });
    expect(ended.delayMs).toBeWithin(60 * SECOND_MS, 72 * SECOND_MS + 1);
    expect((await attempt(posted(500, "60"))).ended).toMatchObject({ slowMs: null });
    expect((await attempt(posted(200, "60"))).ended).toMatchObject({ delayMs: null, slowMs: null });
  });

  test("its body: kept as text; without a body: null", async () => {
    expect((await attempt(posted(500, undefined, Buffer.from("a\0b")))).ended.attempt?.responseBody).toBe("a\u{FFFD}b");
    expect((await attempt(posted(500))).ended.attempt?.responseBody).toBeNull();
    expect(responseText(Buffer.from("é".repeat(256)))).toBe("é".repeat(256));
    expect(responseText(Buffer.from(`\0 ${NEWEST} ${OLDER} \0`))).toBe("\u{FFFD} whsec_**** whsec_**** \u{FFFD}");
    // Text that cannot be decoded becomes longer, and is cut between two characters.
    const long = responseText(Buffer.alloc(512, 0xff));
    expect([Buffer.byteLength(long) <= 512, long.length, new Set(long).size]).toEqual([true, 170, 1]);
    // A cut character is omitted.
    expect(responseText(Buffer.from("ab€").subarray(0, 4))).toBe("ab");
  });
});

test.each([
  [refused("ip_address_not_allowed", "x"), "invalid_url"],
  [refused("host_not_public", "x"), "host_not_public"],
  [refused("certificate_not_valid", "x"), "certificate_not_valid"],
  [refused("unexpected_status", "x"), "invalid_response"],
  [unavailable("host_not_found", "x"), "host_not_found"],
  [unavailable("connection_lost", "x"), "connection_failed"],
  [unavailable("timed_out", "x"), "timed_out"],
] as const)("no response, %j: shown as %s, tried again, and no endpoint is slowed", async (outcome, error) => {
  const { ended, class: shown } = await attempt(outcome);
  expect(ended).toMatchObject({ outcome: "retry", slowMs: null, attempt: { status: null, error, responseBody: null } });
  expect(shown).toBe(error);
});

test("an attempt that was canceled, or whose secret cannot be opened: handed back, not counted", async () => {
  const canceled = await attempt(unavailable("canceled", "x"));
  expect([canceled.ended, canceled.class]).toEqual([handedBack(0), "handed_back"]);
  const unreadable = await attempt(posted(200), { secret: sealed(NEWEST, Buffer.alloc(32, 2)) });
  expect([unreadable.ended, unreadable.class]).toEqual([handedBack(60_000), "secret_not_readable"]);
  expect([handedBack(0).attempt, unreadable.sent]).toEqual([null, []]);
});

test("an endpoint without a URL: delivered, without an attempt and without a message", async () => {
  const { ended, sent } = await attempt(posted(500), { url: null });
  expect(ended).toEqual({ attempt: null, outcome: "delivered", delayMs: null, slowMs: null });
  expect(sent).toEqual([]);
});

test("the signatures: that of the newest secret first, then that of the previous one if it can be opened", async () => {
  const signatures = async (change: Partial<ReadyDelivery>) => {
    const { sent } = await attempt(posted(200), change);
    const headers = new Headers(sent[0]?.headers);
    expect([headers.get("webhook-id"), headers.get("content-type")]).toEqual(["evt_1", "application/json"]);
    return headers.get("webhook-signature")?.split(" ").length;
  };
  expect(await signatures({})).toBe(1);
  expect(await signatures({ previousSecret: sealed(OLDER) })).toBe(2);
  expect(await signatures({ previousSecret: sealed(OLDER, Buffer.alloc(32, 2)) })).toBe(1);
});

test.each([
  [0, 50, 8, 64],
  [24, 50, 8, 64],
  [25, 50, 1, 64],
  [49, 50, 1, 64],
  [50, 50, 1, 1],
  [70, 30, 1, 1],
])(
  "a claim while %d of 100 places are taken: %d deliveries, %d of an endpoint, %d of a tenant",
  (held, limit, perEndpoint, perTenant) =>
    expect(claimBounds(held, 100, 60)).toEqual({ leaseSeconds: 60, limit, perEndpoint, perTenant }),
);

test("waiting outcomes: recorded in one batch; one by one after a failure; skipped after the end of their lease", async () => {
  const statements: string[] = [];
  const run = async (_: string, parameters: readonly unknown[]): Promise<never[]> => {
    const text = JSON.stringify(parameters);
    statements.push(["a", "b", "c", "d"].filter((id) => text.includes(`whd_${id}`)).join(""));
    if (statements.length === 1) throw new Error("refused");
    return [];
  };
  let recorded = 0;
  const log = createLog("silent");
  const recorder = createRecorder({ db: { run } as unknown as Db, log, random }, () => recorded++);
  const add = (id: string, leaseEndsAt: number): void =>
    recorder.add({
      id: `whd_${id}`,
      tenantId: "ten_x",
      lease: "l",
      attemptCount: 0,
      leaseEndsAt,
      ...handedBack(0),
    } as Finished);
  const later = performance.now() + 60_000;
  // The first one is being recorded while the others arrive.
  add("a", later);
  for (const id of ["b", "c"]) add(id, later);
  add("d", performance.now() - 1);
  await recorder.stop();
  expect([statements, recorded]).toEqual([["a", "b", "ac"], 2]);
});
