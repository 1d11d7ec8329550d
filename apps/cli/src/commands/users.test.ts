/** `users`: invited, listed and removed by the operator. */
import { describe, expect, test } from "bun:test";
import { findInvitation } from "@realtime-avatar/db/people/invitations";
import { newId } from "@realtime-avatar/domain/id";
import { ROLES } from "@realtime-avatar/domain/people/roles";
import { parseToken } from "@realtime-avatar/domain/people/tokens";
import { random } from "@realtime-avatar/testing/random-bytes";
import { seedTenant } from "@realtime-avatar/testing/seeds";
import { cliTests, run, UNKNOWN_TENANT } from "../../test/cli.ts";

const { db, tenantId, variables, cli, cliProcess, json, jsonProcess } = await cliTests();

/** Writes a user like a registration. */
const seedUser = async (email: string, role = "developer"): Promise<string> => {
  const id = newId("usr", new Date(), random);
  await db.run(
    "insert into users (tenant_id, id, email, name, role, version, created_at) values ($1, $2, $3, $4, $5, 1, now())",
    [tenantId, id, email, "Ada\u0007", role],
  );
  return id;
};
const invitationOf = async (url: string) => {
  const token = parseToken("invitation", url.split("#")[1] ?? "");
  return token && findInvitation(db, token);
};
const invitationArgs = (...args: string[]) => ["users", "invite", "--tenant", tenantId, ...args];
const invite = (...args: string[]) => json(...invitationArgs(...args));

describe("users invite", () => {
  test("users invite, for a new user: prints only a link", async () => {
    const printed = await jsonProcess(...invitationArgs("--email", "New@Example.com", "--role", "owner"));
    expect(Object.keys(printed)).toEqual(["url"]);
    expect(printed.url).toStartWith("http://localhost:3000/dashboard/register#rta_invitation_");
    const invitation = { email: "new@example.com", role: "owner", userId: null, createdBy: null, isValid: true };
    expect(await invitationOf(printed.url)).toMatchObject(invitation);
  });

  test("users invite, with PUBLIC_URL or PORT: the link begins with it", async () => {
    const link = async (settings: Record<string, string>) => {
      const args = invitationArgs("--email", "a@b.c", "--role", "viewer", "--json");
      return JSON.parse((await run({ ...variables, ...settings }, ...args)).stdout).url;
    };
    expect(await link({ PUBLIC_URL: "https://avatars.example.com/" })).toStartWith(
      "https://avatars.example.com/dashboard/",
    );
    expect(await link({ PORT: "3100" })).toStartWith("http://localhost:3100/dashboard/");
  });

  test("users invite, for a known address: adds a passkey, the role stays", async () => {
    const id = await seedUser("known@example.com");
    const { url } = await invite("--email", "KNOWN@example.com");
    expect(await invitationOf(url)).toMatchObject({ userId: id, role: "developer", isValid: true });
    expect((await cli(...invitationArgs("--email", "known@example.com", "--role", "developer"))).code).toBe(0);
    const raised = await cli(...invitationArgs("--email", "known@example.com", "--role", "owner"));
    expect([raised.code, raised.stdout]).toEqual([2, ""]);
  });

  test("users invite, for a new user without a role: exit 2, and the roles", async () => {
    const { code, stderr } = await cli(...invitationArgs("--email", "nobody@example.com"));
    expect(code).toBe(2);
    for (const role of ROLES) expect(stderr).toContain(`${role} (`);
  });

  test("users invite, an invalid option: exit 2; an unknown tenant: exit 1", async () => {
    const attempts = [
      ["--email", "x", "--role", "owner"],
      ["--email", "a@b.c", "--role", "admin"],
    ];
    for (const args of attempts) {
      const { code, stdout } = await cli(...invitationArgs(...args));
      expect([code, stdout]).toEqual([2, ""]);
    }
    const unknown = ["--tenant", UNKNOWN_TENANT, "--email", "a@b.c", "--role", "owner"];
    expect((await cli("users", "invite", ...unknown)).code).toBe(1);
  });
});

describe("users list and remove", () => {
  test("users, listed and removed by id or address: shown escaped, then gone", async () => {
    const [first, second] = [await seedUser("first@example.com"), await seedUser("second@example.com", "owner")];
    const { stdout } = await cliProcess("users", "list", "--tenant", tenantId);
    expect(stdout).toContain("first@example.com");
    expect(stdout).not.toContain("\u0007");
    // Another tenant cannot remove the user.
    const other = await seedTenant(db);
    for (const user of [first, "first@example.com"]) {
      const { code, stderr } = await cli("users", "remove", user, "--tenant", other);
      expect([code, stderr]).toEqual([1, "The tenant has no such user.\n"]);
    }
    const removed = await jsonProcess("users", "remove", first, "--tenant", tenantId);
    expect(removed).toMatchObject({ id: first, email: "first@example.com" });
    // The operator may remove the last owner.
    const byEmail = await json("users", "remove", "Second@example.com", "--tenant", tenantId);
    expect(byEmail.id).toBe(second);
    expect((await cli("users", "remove", first, "--tenant", tenantId)).code).toBe(1);
    expect((await cli("users", "remove", "x", "--tenant", tenantId)).code).toBe(2);
    const { data } = await json("users", "list", "--tenant", tenantId);
    expect(data.map(({ id }: { id: string }) => id)).not.toContain(first);
  });
});
