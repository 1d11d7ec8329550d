/** `credits sessions` and `credits session`: open sessions, their age, their holds and their keys. */
import { describe, expect, test } from "bun:test";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { releaseSession, reportUsage } from "@realtime-avatar/db/credits/usage-sessions";
import { PRICE, seedCaller, seedMovement, seedSession } from "@realtime-avatar/testing/credits";
import { REPOSITORY } from "@realtime-avatar/testing/processes";
import { operatorOrigin, seedTenant } from "@realtime-avatar/testing/seeds";
import { cliTests, UNKNOWN_SESSION } from "../../test/cli.ts";
import { duration } from "../terminal.ts";

const { db, tenantId, cli, cliProcess, json } = await cliTests();

/** A tenant with four sessions: reserved, started, ended, and overdue in test. */
const seedSessions = async () => {
  const tenant = await seedTenant(db);
  await seedMovement(db, tenant);
  const { caller: live } = await seedCaller(db, tenant);
  const { caller: other } = await seedCaller(db, tenant, { environment: "test" });
  const reserved = await seedSession(db, live, { metadata: { user_id: "u\u0007" } });
  const started = await seedSession(db, live, { maxSeconds: 20, minSeconds: 20 });
  await reportUsage(db, started, { used: 3 * PRICE, leaseSeconds: 60 }, live);
  const ended = await seedSession(db, live);
  await releaseSession(db, ended, { isEngine: true, used: PRICE, reason: null }, live, operatorOrigin());
  const overdue = await seedSession(db, other);
  await db.client`
    update usage_sessions set created_at = now() - interval '200 minutes 1 second',
      expires_at = now() - interval '3 minutes 1 second'
    where id = ${overdue}`;
  const names = { [reserved]: "reserved", [started]: "started", [ended]: "ended", [overdue]: "overdue" };
  const list = async (...args: string[]) => {
    const { data, nextCursor } = await json("credits", "sessions", "--tenant", tenant, ...args);
    return { nextCursor, names: data.map(({ sessionId }: { sessionId: string }) => names[sessionId]) };
  };
  return { tenant, live, other, reserved, started, ended, overdue, list };
};

describe("the sessions of a tenant", () => {
  test("sessions, listed: newest first, filtered and paged, of both environments", async () => {
    const { list, live } = await seedSessions();
    const all = ["overdue", "ended", "started", "reserved"];
    expect(await list()).toEqual({ names: all, nextCursor: null });
    expect((await list("--environment", "test")).names).toEqual(["overdue"]);
    expect((await list("--status", "released")).names).toEqual(["ended"]);
    expect((await list("--key", live.id)).names).toEqual(["ended", "started", "reserved"]);
    expect((await list("--user", "u\u0007")).names).toEqual(["reserved"]);
    expect((await list("--from", "2020-01-01t00:00:00Z", "--to", "2020-02-01T00:00:00Z")).names).toEqual([]);
    const open = ["overdue", "started", "reserved"];
    expect(await list("--status", "open")).toEqual({ names: open, nextCursor: null });
    expect((await list("--status", "open", "--environment", "live")).names).toEqual(open.slice(1));
    expect((await list("--status", "open", "--key", live.id)).names).toEqual(open.slice(1));
    for (const [filters, expected] of [
      [[], all],
      [["--environment", "live", "--status", "open"], open.slice(1)],
    ] as const) {
      const pages: string[] = [];
      for (let cursor: string | null = ""; cursor !== null; ) {
        // The cursor keeps the filters.
        const next = cursor === "" ? filters : ["--cursor", cursor];
        const page = await list("--limit", "1", ...next);
        pages.push(...page.names);
        cursor = page.nextCursor;
      }
      expect(pages).toEqual([...expected]);
    }
  });

  test("sessions, listed as a table: age, lease, reservation and key", async () => {
    const { tenant, live, other, started, overdue, ended } = await seedSessions();
    const { stdout } = await cliProcess("credits", "sessions", "--tenant", tenant);
    const row = (id: string): string[] => {
      const line = stdout.split("\n").find((text) => text.startsWith(id)) ?? "";
      return line.split(/ {2,}/);
    };
    expect(stdout.split("\n")[0]?.split(/ {2,}/)).toEqual([
      ...["ID", "ENVIRONMENT", "STATUS", "AGE", "LEASE", "HELD (CREDIT MICROS)", "USED (CREDIT MICROS)", "KEY"],
    ]);
    const seconds = expect.stringMatching(/^\d+ s$/);
    expect(row(started)).toEqual([
      ...[started, "live", "started", seconds, expect.stringMatching(/^ends in \d+ s$/)],
      ...["20,000,000", "3,000,000", live.id],
    ]);
    expect(row(ended)).toEqual([...[ended, "live", "released", seconds, "-", "-", "1,000,000", live.id]]);
    expect(row(overdue)).toEqual([
      ...[overdue, "test", "reserved", "3 h 20 min", expect.stringMatching(/^overdue for 3 min( \d+ s)?$/)],
      ...["10,000,000", "0", other.id],
    ]);
  });

  test("sessions, no match: a message; invalid options: exit 2", async () => {
    const list = (...args: string[]) => cli("credits", "sessions", "--tenant", tenantId, ...args);
    expect((await list("--status", "open")).stdout).toBe("No open sessions.\n");
    expect((await list()).stdout).toBe("No matching sessions in this window: see --from and --to.\n");
    for (const [args, error] of [
      [["--status", "x"], "--status: Must be one of: open, reserved, started, released, failed."],
      [["--environment", "x"], "--environment: Must be one of: live, test."],
      [["--from", "x"], "--from: Must be an RFC 3339 date-time"],
      [["--from", "2026-01-01T00:00:00Z", "--to", "2026-06-01T00:00:00Z"], "--from: Must be at most 90 days"],
      [["--status", "open", "--user", "u"], "--status: open cannot be combined with --user, --from or --to."],
    ] as const) {
      const { code, stderr } = await list(...args);
      expect([code, stderr]).toEqual([2, expect.stringContaining(error)]);
    }
  });
});

describe("one session", () => {
  test("a session, shown by its id: with its entries, in either environment", async () => {
    const { tenant, ended, overdue } = await seedSessions();
    const show = (id: string, ...args: string[]) => json("credits", "session", id, "--tenant", tenant, ...args);
    const shown = await show(ended);
    expect(shown).toMatchObject({ sessionId: ended, status: "released", billedCreditMicros: PRICE });
    const entries = shown.entries.map((entry: Record<string, unknown>) => [entry["kind"], entry["amountCreditMicros"]]);
    expect(entries.toSorted()).toEqual([
      ["hold", 10 * PRICE],
      ["release", 9 * PRICE],
      ["settle", PRICE],
    ]);
    expect(await show(overdue)).toMatchObject({ environment: "test", entries: [{ kind: "hold" }] });
    const { stdout } = await cliProcess("credits", "session", ended, "--tenant", tenant);
    expect(stdout).toMatch(/^billedCreditMicros +1000000$/m);
    expect(stdout).toMatch(/^ent_\w+ +\S+Z +settle +1,000,000 /m);
  });

  test("a session of another tenant: exit 1; a malformed id: exit 2", async () => {
    const { ended } = await seedSessions();
    for (const id of [ended, UNKNOWN_SESSION]) {
      const { code, stdout, stderr } = await cli("credits", "session", id, "--tenant", tenantId);
      expect([code, stdout, stderr]).toEqual([1, "", "The tenant has no session with this id.\n"]);
    }
    expect((await cli("credits", "session", "x", "--tenant", tenantId)).code).toBe(2);
  });
});

test("the commands in docs/credits.md, executed: exit 0", async () => {
  const text = await readFile(join(REPOSITORY, "docs/credits.md"), "utf8");
  const { tenant, ended } = await seedSessions();
  const lines = [...text.matchAll(/^```sh\n(.*?)^```/gms)].flatMap(([, block = ""]) => block.split("\n"));
  const commands = lines.filter((line) => line.startsWith("bun run "));
  expect(commands.length).toBeGreaterThan(4);
  for (const command of commands) {
    const filled = command.replace("$TENANT_ID", tenant).replace("$SESSION_ID", ended);
    const [, , ...args] = [...filled.matchAll(/"([^"]*)"|\S+/g)].map(([word, quoted]) => quoted ?? word);
    expect([command, (await cli(...args)).code]).toEqual([command, 0]);
  }
});

test.each([
  [0, "0 s"],
  [999, "0 s"],
  [59_999, "59 s"],
  [60_000, "1 min"],
  [252_000, "4 min 12 s"],
  [3_600_000, "1 h"],
  [3_659_000, "1 h"],
  [90_061_000, "1 d 1 h"],
])("a duration, %d ms: %s", (milliseconds, text) => {
  expect(duration(milliseconds)).toBe(text);
});
