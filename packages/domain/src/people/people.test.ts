import { describe, expect, test } from "bun:test";
import { seededBytes } from "@realtime-avatar/testing/random-bytes";
import fc from "fast-check";
import { newId } from "../id.ts";
import { Problem } from "../problem.ts";
import { isValid, normalEmail, validate } from "../schema.ts";
import { codePoint } from "../testing.ts";
import {
  checkVerified,
  invitationUrl,
  newInvitation,
  newUserSession,
  parseUserHandle,
  presentCurrentSession,
  presentInvitation,
  presentPasskey,
  presentUserSession,
  userHandle,
} from "./people.ts";
import { checkRole, includesRole, MINIMUM_ROLES, ROLES } from "./roles.ts";
import {
  CreateInvitation,
  CurrentSession,
  Invitation,
  Passkey,
  UpdatePasskey,
  UpdateUser,
  UserSession,
} from "./schemas.ts";

const random = seededBytes("people");
const now = new Date("2026-11-20T12:00:00.000Z");
const tenantId = newId("ten", now, random);
const user = {
  tenantId,
  id: newId("usr", now, random),
  email: "ada@example.com",
  name: "Ada",
  role: "owner" as const,
  version: 1,
  createdAt: now,
  lastSeenAt: null,
};

describe("the representations of people", () => {
  test("the representations, of people and their objects: valid for their schemas", () => {
    const passkeyId = newId("psk", now, random);
    const { session } = newUserSession({ tenantId, userId: user.id, passkeyId, userAgent: null }, { now, random });
    const { invitation } = newInvitation({ ...user, userId: null, createdBy: null }, { now, random });
    const passkey = { id: passkeyId, name: "x", createdAt: now, lastUsedAt: null, isBackedUp: false };
    expect(isValid(CurrentSession, presentCurrentSession(session, user, "Example", now))).toBe(true);
    expect(isValid(UserSession, presentUserSession(session, { lastSeenAt: now, isCurrent: true }))).toBe(true);
    expect(isValid(Invitation, presentInvitation(invitation))).toBe(true);
    expect(isValid(Passkey, presentPasskey(passkey))).toBe(true);
  });

  test("an idle session, near its end: idle expiry not after the expiry", () => {
    const passkeyId = newId("psk", now, random);
    const { session } = newUserSession({ tenantId, userId: user.id, passkeyId, userAgent: null }, { now, random });
    const late = new Date(session.expiresAt.getTime() - 60_000);
    const shown = presentCurrentSession(session, user, "Example", late);
    expect([shown.idleExpiresAt, shown.expiresAt]).toEqual([shown.expiresAt, "2026-11-21T00:00:00.000Z"]);
  });
});

describe("an invitation", () => {
  test("an invitation, created: address in lower case, token in the link's fragment", () => {
    const fields = { tenantId, email: "Ada@Example.COM", role: "viewer" as const, userId: null, createdBy: null };
    const { invitation, token } = newInvitation(fields, { now, random });
    expect(invitation.email).toBe("ada@example.com");
    expect(invitation.expiresAt).toEqual(new Date("2026-11-20T12:30:00.000Z"));
    const url = new URL(invitationUrl("https://avatars.test", token));
    expect([url.origin, url.pathname, url.search]).toEqual(["https://avatars.test", "/dashboard/register", ""]);
    expect(url.hash).toBe(`#${token.reveal()}`);
  });

  test.each(["a@b", "ada+x@example.com", "ü@bücher.example"])("an invitation, for %p: valid", (email) => {
    expect(isValid(CreateInvitation, { email, role: "viewer" })).toBe(true);
  });

  test("an address, decomposed: composed, and stable", () => {
    const decomposed = "Bu\u0308cher@I\u0307.example";
    const normal = normalEmail(decomposed);
    expect(normal).toBe("b\u00fccher@i\u0307.example");
    expect(normalEmail(normal)).toBe(normal);
    fc.assert(
      fc.property(fc.string({ unit: codePoint }), (text) => normalEmail(normalEmail(text)) === normalEmail(text)),
    );
  });

  test.each([
    ["\uff21\uff44\uff41@\uff45xample.com", "ada@example.com"],
    ["\u{1d400}da@example.com", "ada@example.com"],
    ["\ufb01n@example\u3002com\uff0e", "fin@example\u3002com."],
    ["\u24d0\u00b2@\u2122.example", "a2@tm.example"],
  ])("the address %j, in normal form (NFKC): that of its look-alike", (email, normal) => {
    expect(normalEmail(email)).toBe(normal);
    expect(isValid(CreateInvitation, { email, role: "viewer" })).toBe(true);
  });

  test("an address whose normal form has another @, white space or too many characters: invalid", () => {
    for (const email of [
      "a\uff20b@c.example",
      "a\u00b4b@c.example",
      `a@${"\ufdfa".repeat(2)}`,
      `a@b${"\u3300".repeat(120)}`,
    ]) {
      expect(isValid(CreateInvitation, { email, role: "viewer" })).toBe(false);
    }
  });

  const unseen = "\u0007\u00a0\u00ad\u034f\u061c\u115f\u180e\u200b\u200d\u2028\u202e\u2060\u2066\u2800\u3000\u3164";
  const more = "\ue000\ufe0f\ufeff\uffa0\ufffc\u{16fe4}\u{1d159}\u{e0041}\u{f0000}";
  test.each([...unseen, ...more])("an address, with %j on either side: refused", (character) => {
    for (const email of [`a${character}b@example.com`, `ab@exam${character}ple.com`]) {
      expect(validate(CreateInvitation, { email, role: "viewer" })).toMatchObject([{ code: "invalid_email" }]);
    }
  });

  test("the pattern of addresses, in the document: refuses the same characters up to U+FFFF", () => {
    const pattern = new RegExp(String(CreateInvitation.properties.email["pattern"]));
    for (let code = 0; code < 0x1_0000; code++) {
      const email = `a${String.fromCharCode(code)}b@example.com`;
      if (!email.isWellFormed() || email.includes("\0")) continue;
      if (pattern.test(email) !== isValid(CreateInvitation, { email, role: "viewer" }))
        throw new Error(`U+${code.toString(16)}`);
    }
  });

  test.each(["", "a", "@", "a@", "@b", "a@b@c", "a b@c", "a@b\n", "a@\u0000b", `${"a".repeat(250)}@b.cd`, 5, null])(
    "an invitation, for address %p: refused",
    (email) => {
      expect(isValid(CreateInvitation, { email, role: "viewer" })).toBe(false);
    },
  );
});

describe("a name of people", () => {
  test.each(["Ada", "Zo\u00eb", "\u0646\u0627\u0645\u200c\u0647", "\u05d0\u05d1", "\u{1f469}\u200d\u{1f680}", " "])(
    "a name, %j: valid",
    (name) => {
      for (const schema of [UpdateUser, UpdatePasskey]) expect(validate(schema, { name })).toEqual([]);
    },
  );

  const controls = "\u0001\t\n\r\u007f\u0085\u009f\u2028\u2029";
  const directions = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069";
  test.each([...controls, ...directions])("a name, with %j: refused", (character) => {
    for (const schema of [UpdateUser, UpdatePasskey]) {
      expect(validate(schema, { name: `Ada${character}x` })).toMatchObject([{ code: "invalid_name" }]);
    }
  });
});

describe("a user handle", () => {
  test("a user handle, parsed: tenant and user", () => {
    const handle = userHandle(user);
    expect(handle.length).toBeLessThanOrEqual(64);
    expect(parseUserHandle(Buffer.from(handle).toString("base64url"))).toEqual({ tenantId, userId: user.id });
  });

  test.each([
    "",
    "x",
    Buffer.from("x".repeat(52)).toString("base64url"),
    Buffer.from("0".repeat(53)).toString("base64url"),
  ])("a user handle, %p: null", (text) => {
    expect(parseUserHandle(text)).toBeNull();
  });
});

describe("roles", () => {
  test("a role, for each other: includes those before it", () => {
    expect(ROLES.map((role) => ROLES.map((required) => includesRole(role, required)))).toEqual([
      [true, false, false],
      [true, true, false],
      [true, true, true],
    ]);
  });

  test("an operation, not in the table: refused for every role", () => {
    for (const role of ROLES) {
      for (const required of [null, undefined]) expect(() => checkRole(role, required)).toThrow(Problem);
    }
    expect(Object.values(MINIMUM_ROLES).filter((role) => role === "owner")).toHaveLength(6);
    for (const operation of ["openUsageSession", "reportUsage", "releaseSession", "getCallingApiKey"]) {
      expect(MINIMUM_ROLES[operation]).toBeNull();
    }
  });
});

test("a verification, more than five minutes ago: the passkey is required", () => {
  const session = { verifiedUntil: new Date(now.getTime() + 1), checkedAt: now };
  expect(() => checkVerified(session)).not.toThrow();
  expect(() => checkVerified({ ...session, verifiedUntil: now })).toThrow("passkey_required");
});
