/** The texts of choices in dialogs match the behaviour of the service. */
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
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

const ROOT = join(import.meta.dir, "../../..");

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

/**
 * The dialogs that end something. Each row: the file of the dialog, its text, and the tests of the announced effects
 * (file and title).
 */
const ENDS = [
  [
    "avatars/details.tsx",
    "No new call can use the avatar. Its picture is deleted. It cannot be brought back.",
    [
      "apps/api/src/calls/calls.test.ts",
      "an unknown, deleted or foreign avatar, one of the other environment, or a malformed id: 404 in the same bytes",
    ],
    [
      "packages/db/src/avatars/prepared-files.test.ts",
      "a preview, looked up by its token: found in every status except deleted",
    ],
    ["apps/worker/src/sweeps/objects.test.ts", "prepared files, of a hundred deleted generations: removed"],
  ],
  [
    "keys/end.tsx",
    "Its open calls with avatars end within seconds, also those of the keys that end with it.",
    [
      "apps/avatar-worker/test/revocation.system.test.ts",
      "a revoked ancestor of a call's key, the avatar worker %s: no more frames; the room is gone",
    ],
    [
      "packages/db/src/api-keys/api-keys.test.ts",
      "a revocation of a key with descendants: ends all of them, and returns the revoked key",
    ],
  ],
  [
    "keys/end.tsx",
    "A session that an engine of your own runs ends when the engine next reports its use.",
    ["apps/api/src/credits/usage-sessions.test.ts", "a report, of a session whose key is revoked: `mustEnd`"],
  ],
  [
    "people/identities.tsx",
    "You can no longer sign in with it, and other sessions that were opened with it end at once.",
    ["packages/db/src/people/identities.test.ts", "an identity, deleted: ends its other sessions, cannot sign in"],
  ],
  [
    "people/members.tsx",
    "All sessions and passkeys of {user.email} end at once. The keys that {user.name} created go on working.",
    ["apps/api/src/people/people.test.ts", "a removed person: every request and a sign-in are refused"],
  ],
  [
    "people/passkeys.tsx",
    "You can no longer sign in with it, and other sessions that were opened with it end at once.",
    [
      "packages/db/src/people/colleagues.test.ts",
      "a passkey, deleted: only its other sessions end; the passkey of a colleague is not found",
    ],
    ["apps/api/src/people/people.test.ts", "passkeys, added, renamed and deleted: allowed, but the last one stays"],
  ],
  [
    "usage/recordings.tsx",
    "Its file is deleted. It cannot be brought back. The call, its transcript and its charge stay.",
    [
      "packages/db/src/recordings/recordings.test.ts",
      "of a ready recording: deleted with its file; the audit event is not sent to webhooks",
    ],
    [
      "apps/dashboard/test/recordings.system.test.ts",
      "an owner, deleting the recording: it is gone from the page, and in the audit trail; the call and its transcript stay",
    ],
  ],
  [
    "usage/transcript.tsx",
    "It cannot be brought back. The call and its charge stay.",
    [
      "apps/dashboard/test/transcript.system.test.ts",
      "the transcript, deleted: gone from the page and the database; the call stays",
    ],
  ],
  [
    "videos/card.tsx",
    "Its rendering stops within seconds, and nothing is charged. A video that has become ready meanwhile is deleted.",
    ["packages/db/src/videos/videos.test.ts", "a queued or rendered video: canceled, not charged, its job is deleted"],
    [
      "packages/db/src/videos/rendering.test.ts",
      "a cancellation during the rendering: the renewal of the lease fails; the end of the job changes nothing",
    ],
    [
      "packages/db/src/videos/rendering.test.ts",
      "deleted when it is ready: without its file and text; its charge remains",
    ],
  ],
  [
    "videos/card.tsx",
    "Its text and its file are deleted, and its address no longer works. It cannot be brought back.",
    [
      "apps/dashboard/test/videos.system.test.ts",
      "a video, deleted after a confirmation: gone from the list and from its address",
    ],
  ],
  [
    "webhooks/actions.tsx",
    "No more events are sent to it, not even waiting ones. Its secret is deleted. It cannot be brought back.",
    ["apps/worker/src/webhooks/sender.test.ts", "deleted: the delivery is canceled, and nothing is sent"],
    ["packages/db/src/webhooks/endpoints.test.ts", "deleted: its last state is returned; its secrets are deleted"],
  ],
  [
    "usage/keep-transcripts.tsx",
    "Existing transcripts stay until they are deleted.",
    [
      "packages/db/src/calls/kept-transcripts.test.ts",
      "off by default; on for one environment: new calls there have a transcript, which the worker must send",
    ],
  ],
] as const;

describe("a dialog that ends something", () => {
  /** The text of a file of source, on one line. */
  const readLine = async (path: string): Promise<string> =>
    (await Bun.file(join(ROOT, path)).text()).replace(/\s+/g, " ");

  test.each(ENDS.map(([dialog, text, ...tests]) => [dialog, text, tests] as const))(
    "%s: %p, and tests of this",
    async (dialog, text, tests) => {
      expect(await readLine(`apps/dashboard/src/${dialog}`)).toContain(text);
      for (const [file, title] of tests) expect(await readLine(file)).toContain(`"${title}"`);
    },
  );

  test("each: has a row here", async () => {
    const dialogs: string[] = [];
    for await (const file of new Bun.Glob("*/*.tsx").scan(import.meta.dir)) {
      if ((await Bun.file(join(import.meta.dir, file)).text()).includes("<EndDialog")) dialogs.push(file);
    }
    const listed = new Set<string>(ENDS.map(([dialog]) => dialog));
    expect(dialogs.filter((dialog) => !listed.has(dialog))).toEqual([]);
    expect(dialogs.length).toBeGreaterThan(0);
  });
});
