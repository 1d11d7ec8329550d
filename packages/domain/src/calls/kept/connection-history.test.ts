/** Connection histories: the token of a page, and the representation of the observations of several pages. */
import { expect, test } from "bun:test";
import type { SessionId, TenantId } from "../../id.ts";
import {
  type ConnectionObservation,
  newConnectionHistoryGrant,
  presentConnectionHistory,
  readConnectionHistoryToken,
  storedObservations,
} from "./connection-history.ts";

const tenantId = "ten_01h455vb4pex5vsknk084sn02q" as TenantId;
const sessionId = "ses_01h455vb4pex5vsknk084sn02q" as SessionId;
const secret = { reveal: () => "the secret of sessions" };
const now = new Date("2026-11-20T12:00:00.000Z");
const grant = newConnectionHistoryGrant({ tenantId, sessionId }, { origin: "https://avatars.test", secret, now });
const read = (token: string, at = now, by = secret) => readConnectionHistoryToken(token, by, at);

test("a token: names its page until it expires; changed or of another secret: null", () => {
  expect(grant.endpoint).toBe("https://avatars.test/public/connection-histories");
  expect(read(grant.token)).toEqual({ tenantId, sessionId, grantedAt: now.getTime() });
  expect(read(grant.token, new Date(Date.parse(grant.expiresAt) - 1))).not.toBeNull();
  expect(read(grant.token, new Date(grant.expiresAt))).toBeNull();
  expect(read(grant.token, now, { reveal: () => "another" })).toBeNull();
  for (const changed of ["", "x", `${grant.token}x`, grant.token.replace("02q_ses", "02r_ses")]) {
    expect(read(changed)).toBeNull();
  }
});

const observed = (sequence: number, elapsedMs: number, clientObservedAt: string | null = null) =>
  ({
    ...{ sequence, elapsedMs, clientObservedAt, connectionState: "connected" },
    ...{ localQuality: "good", audioQuality: null, videoQuality: null },
  }) as ConnectionObservation;

test("the observations of two pages: numbered in one series, with times that count from the first grant up to a day", () => {
  const of = (grantedAt: number, ...observations: ConnectionObservation[]) =>
    storedObservations({ sessionId, observations }, { grantedAt });
  const stored = [
    ...of(1000, observed(1, 5, "2026-11-20t13:00:00.5+01:00"), observed(3, 90)),
    ...of(61_000, observed(1, 7), observed(2, 86_400_000)),
  ];
  const { observations } = presentConnectionHistory(sessionId, stored);
  expect(observations.map(({ sequence, elapsedMs }) => [sequence, elapsedMs])).toEqual([
    [1, 5],
    [2, 90],
    [3, 60_007],
    [4, 86_400_000],
  ]);
  expect(observations[0]).toEqual({ ...observed(1, 5), clientObservedAt: "2026-11-20T12:00:00.500Z" });
  expect(presentConnectionHistory(sessionId, [])).toEqual({ sessionId, observations: [] });
});
