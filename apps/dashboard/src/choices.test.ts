/** The texts of choices in dialogs match the behaviour of the service. */
import { describe, expect, test } from "bun:test";
import type { ApiKeyWithCreator } from "@realtime-avatar/client";
import { RotateApiKey } from "@realtime-avatar/domain/api-keys/schemas";
import { MINIMUM_ROLES, ROLES, type Role } from "@realtime-avatar/domain/people/roles";
import { CreateInvitation } from "@realtime-avatar/domain/people/schemas";
import { isValid } from "@realtime-avatar/domain/schema";
import { keptSince, recoveredSince } from "@realtime-avatar/domain/webhooks/schedule";
import { OVERLAPS, overlapHint, revocationTexts } from "./keys/end.tsx";
import { CHOICES, expiryAt } from "./keys/expiry-field.tsx";
import { LIFETIMES, ROLE_TEXTS } from "./people/invitations.tsx";
import { PERIODS, recoveryStart } from "./webhooks/actions.tsx";

const SECONDS: Record<string, number> = { minute: 60, hour: 3600, day: 86_400, week: 604_800, year: 365 * 86_400 };
/** The seconds in a text: "After a week", "In 30 days", "The last 24 hours". */
const secondsIn = (text: string): number => {
  const [, count = "1", unit = ""] = /(\d+|\ba|\ban|\blast)? ?(minute|hour|day|week|year)s?$/.exec(text) ?? [];
  return (Number(count) || 1) * (SECONDS[unit] ?? Number.NaN);
};

describe("the rotation of a key", () => {
  test.each([...OVERLAPS])("an overlap of %d seconds: accepted, and as long as its text %p says", (seconds, text) => {
    expect(isValid(RotateApiKey, { overlapSeconds: seconds })).toBe(true);
    expect<number>(seconds).toBe(text === "At once" ? 0 : secondsIn(text));
    // The old secret works until the overlap ends. Without an overlap, programs fail until they have the new secret.
    const [isCut, isKept] = [/fail until they have the new one/, /Both secrets work until then/].map((one) =>
      one.test(overlapHint(seconds)),
    );
    expect([isCut, isKept]).toEqual([seconds === 0, seconds > 0]);
  });
});

test("the revocation of a key: its texts count the key and those below it", () => {
  const below = (count: number) => Array.from({ length: count }, () => ({}) as ApiKeyWithCreator);
  const of = (count: number, hasMore = false) =>
    Object.values(revocationTexts("Shop", { keys: below(count), hasMore }));
  expect(of(0)).toEqual(["Revoke the key", "Shop is revoked."]);
  expect(of(1)).toEqual(["Revoke 2 keys", "Shop and 1 key below it are revoked."]);
  expect(of(7)).toEqual(["Revoke 8 keys", "Shop and 7 keys below it are revoked."]);
  expect(of(100, true)).toEqual(["Revoke the key and all below it", "Shop and all keys below it are revoked."]);
});

describe("the expiry of a key", () => {
  const chosenAt = Date.parse("2026-11-20T12:00:00.000Z");
  const at = (choice: string, date = "", present: string | null = null) =>
    expiryAt({ choice: choice as keyof typeof CHOICES, chosenAt, date }, present);

  test.each(Object.entries(CHOICES).filter(([, text]) => text.startsWith("In ")))(
    "the choice %p: expires as its text %p says",
    (choice, text) => {
      expect(Date.parse(at(choice) ?? "") - chosenAt).toBe(secondsIn(text) * 1000);
    },
  );

  test("never, unchanged, and a custom time", () => {
    expect(at("never", "", "2027-01-01T00:00:00.000Z")).toBeNull();
    expect(at("present", "", "2027-01-01T00:00:00.000Z")).toBe("2027-01-01T00:00:00.000Z");
    expect(at("date", "2027-01-01T00:00:00Z")).toBe("2027-01-01T00:00:00.000Z");
    expect(at("date", "")).toBeUndefined();
  });
});

describe("the recovery of deliveries", () => {
  const now = new Date("2026-11-20T12:00:00.000Z");

  test.each(Object.entries(PERIODS))("the choice %p, %p: a time that the service accepts", (choice, text) => {
    const since = recoveryStart(choice, "", now.getTime()) ?? "";
    // The clock of a device that is two hours ahead or behind.
    for (const ms of [-3_600_000, 0, 3_600_000]) {
      expect(recoveredSince(since, new Date(now.getTime() + ms)).toISOString()).toBe(since);
    }
    const all = now.getTime() - keptSince(now).getTime();
    const seconds = (now.getTime() - Date.parse(since)) / 1000;
    if (text.startsWith("All")) expect(seconds).toBeWithin(all / 1000 - 3 * 3600, all / 1000);
    else expect(seconds).toBe(secondsIn(text));
  });

  test("a custom time: as it is entered, and null while the field is empty", () => {
    expect(recoveryStart("date", "2026-11-19T12:00:00Z")).toBe("2026-11-19T12:00:00.000Z");
    expect(recoveryStart("2026-11-19T11:00:00.000Z", "")).toBe("2026-11-19T11:00:00.000Z");
    expect(recoveryStart("date", "")).toBeNull();
  });
});

describe("an invitation", () => {
  test.each(Object.entries(LIFETIMES))(
    "a link of %p seconds, %p: accepted, and as long as its text says",
    (seconds, text) => {
      const body = { email: "ada@example.com", role: "viewer", lifetimeSeconds: Number(seconds) };
      expect(isValid(CreateInvitation, body)).toBe(true);
      expect(Number(seconds)).toBe(secondsIn(text));
    },
  );

  test("the texts of the roles: the rights to change, and to manage people", () => {
    const may = (role: Role, operation: string): boolean => {
      const least = MINIMUM_ROLES[operation];
      return least !== null && least !== undefined && ROLES.indexOf(role) >= ROLES.indexOf(least);
    };
    for (const role of ROLES) {
      const text = ROLE_TEXTS[role];
      const changes = ["createApiKey", "revokeApiKey", "createAvatar", "deleteAvatar", "uploadAsset", "deleteAsset"];
      expect([role, changes.every((one) => may(role, one))]).toEqual([role, !text.includes("changes nothing")]);
      expect([role, changes.some((one) => may(role, one))]).toEqual([role, !text.includes("changes nothing")]);
      expect([role, may(role, "deleteUser")]).toEqual([role, text.includes("manages people")]);
    }
  });
});
