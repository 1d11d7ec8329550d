import { expect, test } from "bun:test";
import type { UsageSum } from "@realtime-avatar/client";
import { addUp, callsQuery, largest, lastDays, usageNames } from "./data.ts";

const sum = (day: string, apiKeyId: string, billedCreditMicros: number): UsageSum => ({
  day,
  apiKeyId,
  apiKeyName: null,
  avatarId: null,
  avatarName: null,
  sessions: 1,
  activeSeconds: 10,
  billedCreditMicros,
  reservedCreditMicros: 0,
});

test("the last days, across months and leap days: end today", () => {
  expect(lastDays(3, new Date("2028-03-01T23:59:59.999Z"))).toEqual(["2028-02-28", "2028-02-29", "2028-03-01"]);
  expect(lastDays(1, new Date("2026-01-01T00:00:00.000Z"))).toEqual(["2026-01-01"]);
});

test("sums, of one group on several pages: added up", () => {
  const sums = [sum("2026-01-02", "a", 5), sum("2026-01-02", "b", 7), sum("2026-01-01", "a", 3)];
  expect(
    largest(
      addUp(sums, ({ apiKeyId }) => apiKeyId ?? ""),
      (id) => id.toUpperCase(),
    ),
  ).toEqual([
    { id: "a", label: "A", billed: 8, sessions: 2, seconds: 20 },
    { id: "b", label: "B", billed: 7, sessions: 1, seconds: 10 },
  ]);
});

test("the calls of the last days: from the midnight before the first of them, in UTC, with the other filters", () => {
  const [first] = lastDays(7, new Date());
  const query = callsQuery({ days: 7, status: "failed", apiKeyId: "key_1" });
  expect(query).toEqual({ kind: "call", from: `${first}T00:00:00.000Z`, status: "failed", apiKeyId: "key_1" });
});

test("the names of keys and avatars in sums: by their ids", () => {
  const byKey = [{ ...sum("2026-01-01", "key_1", 1), apiKeyName: "Shop" }];
  const byAvatar = [{ ...sum("2026-01-01", "", 1), avatarId: "ava_1", avatarName: "Ada" }];
  const names = usageNames({ days: [], byKey, byAvatar, hasMore: false });
  expect([names.get("key_1"), names.get("ava_1")]).toEqual(["Shop", "Ada"]);
});
