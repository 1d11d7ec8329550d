import { expect, test } from "bun:test";
import type { ApiKey, Avatar, CreditBalance, UsageSum, WebhookEndpoint } from "@realtime-avatar/client";
import type { Video } from "../videos/data.ts";
import { type HomeData, listConcerns } from "./attention.ts";
import { countFailures, sumToday } from "./data.ts";
import { completedSteps } from "./steps.ts";

const NOW = Date.parse("2026-11-20T12:00:00.000Z");
const DAY_MS = 86_400_000;
const at = (days: number): string => new Date(NOW + days * DAY_MS).toISOString();

const balance = (availableCreditMicros: number, lowThresholdCreditMicros: number | null = null) =>
  ({ availableCreditMicros, lowThresholdCreditMicros }) as CreditBalance;
const key = (name: string, effectiveExpiresAt: string | null = null) =>
  ({ id: `key_${name}`, name, effectiveExpiresAt, scopes: ["*"] }) as ApiKey;
const avatar = (displayName: string, fields: Partial<Avatar>) =>
  ({ id: `ava_${displayName}`, displayName, pendingSourceAssetId: null, error: null, ...fields }) as Avatar;
const endpoint = (description: string, fields: Partial<WebhookEndpoint>) =>
  ({ id: `whe_${description}`, description, disabledReason: null, failingSince: null, ...fields }) as WebhookEndpoint;

const QUIET: HomeData = {
  balance: balance(1_000_000),
  failedCalls: 0,
  endpoints: [endpoint("Shop", {})],
  keys: [key("Forever"), key("Year", at(365))],
  failedAvatars: [],
};
const named = (data: Partial<HomeData>) =>
  listConcerns({ ...QUIET, ...data }, NOW).map(({ name, text, tone }) => [name, text, tone]);

test("an environment without problems: no concerns", () => expect(named({})).toEqual([]));

test("credits, below the threshold and used up: listed; above the threshold: not listed", () => {
  expect(named({ balance: balance(600_000_000, 600_000_000) })).toEqual([]);
  expect(named({ balance: balance(12_500_000, 600_000_000) })).toEqual([
    ["12.5 credits are left", "This is less than the 600 that you have set.", "warn"],
  ]);
  expect(named({ balance: balance(1_000_000, 600_000_000) })[0]?.[0]).toBe("1 credit is left");
  expect(named({ balance: balance(0) })).toEqual([
    [
      "No credits are left",
      "New calls are refused until the operator of the service adds some, by the command `credits grant`.",
      "bad",
    ],
  ]);
});

test("endpoints, failing and disabled: listed, unless a person has disabled them", () => {
  const endpoints = [
    endpoint("Slow", { failingSince: at(-1) }),
    endpoint("Gone", { disabledReason: "gone", failingSince: at(-2) }),
    endpoint("Off", { disabledReason: "requested", failingSince: at(-2) }),
  ];
  expect(named({ endpoints })).toEqual([
    ["Slow", "No delivery succeeds. The first failure was", "warn"],
    ["Gone", "Disabled. It responded with 410 Gone, which asks for no more events.", "bad"],
  ]);
  expect(listConcerns({ ...QUIET, endpoints }, NOW).map((concern) => concern.at)).toEqual([at(-1), null]);
});

test("keys, expiring soon: the first five, and the number of further ones", () => {
  const keys = [9, 3, 8, 14, 1, 2, 5, 13.9].map((days) => key(String(days), at(days)));
  const concerns = listConcerns({ ...QUIET, keys }, NOW);
  expect(concerns.map(({ name }) => name)).toEqual(["1", "2", "3", "5", "8", "2 more keys expire"]);
  expect(concerns[0]).toMatchObject({ to: "/keys", search: { key: "key_1" }, at: at(1) });
});

test("failed calls, as many as are counted: shown as that many or more", () => {
  const one = ["1 call failed today", "It could not begin, and cost nothing.", "warn"];
  const two = ["2 calls failed today", "They could not begin, and cost nothing.", "warn"];
  expect([named({ failedCalls: 1 }), named({ failedCalls: 2 })]).toEqual([[one], [two]]);
  expect(named({ failedCalls: 20 }).map(([name]) => name)).toEqual(["20 calls or more failed today"]);
});

test("failed avatars: listed for a week, with the reason", () => {
  const failedAvatars = [
    avatar("New", { status: "failed", updatedAt: at(-1), error: "There is no face." }),
    avatar("Old", { status: "failed", updatedAt: at(-7) }),
  ];
  expect(named({ failedAvatars })).toEqual([["New", "There is no face.", "bad"]]);
});

test("the first steps, of keys and avatars: open, waiting, failed and done", () => {
  const ready = avatar("Ready", { status: "ready" });
  const preparing = avatar("Preparing", { status: "preprocessing" });
  const failed = avatar("Failed", { status: "failed" });
  const states = (keys: ApiKey[], avatars: Avatar[]) => {
    const steps = completedSteps(keys, avatars, []);
    return [steps.key.state, steps.avatar.state, steps.avatar.with?.name];
  };
  expect(states([], [])).toEqual(["open", "open", undefined]);
  expect(states([key("a")], [avatar("Draft", { status: "draft" })])).toEqual(["done", "open", undefined]);
  expect(states([key("a")], [failed])).toEqual(["done", "failed", "Failed"]);
  expect(states([key("a")], [failed, preparing])).toEqual(["done", "waiting", "Preparing"]);
  expect(states([], [preparing, ready])).toEqual(["open", "done", "Ready"]);
});

test("the step of a video: open, waiting, failed and done, also with newer videos", () => {
  const video = (status: Video["status"], text: string | null = status) => ({ status, text }) as Video;
  const step = (...videos: Video[]) => {
    const { state, with: what } = completedSteps([], [], videos).video;
    return [state, what?.name];
  };
  expect(step()).toEqual(["open", undefined]);
  expect(step(video("canceled"))).toEqual(["open", undefined]);
  expect(step(video("failed"))).toEqual(["failed", "failed"]);
  expect(step(video("queued"), video("failed"))).toEqual(["waiting", "queued"]);
  expect(step(video("rendering"), video("ready"))).toEqual(["done", "ready"]);
  expect(step(video("ready", null))).toEqual(["done", "A recording"]);
});

test("the key of the first call: one that can start calls", () => {
  const reader = { ...key("Reader"), scopes: ["credits:read"] } as ApiKey;
  const caller = { ...key("Caller"), scopes: ["realtime:write"] } as ApiKey;
  expect(completedSteps([reader], [], []).callKey).toBeNull();
  expect(completedSteps([reader, caller], [], []).callKey).toBe("Caller");
});

test("the calls of a day: added up, and whether more exist", () => {
  const sum = (sessions: number) => ({ sessions, activeSeconds: 10 * sessions, billedCreditMicros: 100 * sessions });
  const page = (nextCursor: string | null) => ({ data: [sum(1), sum(2)] as UsageSum[], nextCursor });
  expect(sumToday(page(null))).toEqual({ calls: 3, seconds: 30, billed: 300, hasMore: false });
  expect(sumToday(page("x")).hasMore).toBe(true);
});

test("failed calls: counted up to twenty, among a thousand; a call that its program has ended does not count", async () => {
  const calls = async function* (count: number, endReason: "failed" | "released", read = { count: 0 }) {
    for (; read.count < count; read.count++) yield { status: "failed", endReason } as const;
  };
  const [many, ended] = [{ count: 0 }, { count: 0 }];
  expect(await countFailures(calls(3, "failed"))).toBe(3);
  expect(await countFailures(calls(50, "failed", many))).toBe(20);
  expect(await countFailures(calls(2000, "released", ended))).toBe(0);
  // The generator does not count the call at which the reading stops.
  expect([many.count, ended.count]).toEqual([19, 999]);
});
