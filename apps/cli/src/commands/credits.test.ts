/** `credits`: granted, voided and refunded once, shown, and verified. */
import { describe, expect, test } from "bun:test";
import { mkdir, readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { releaseSession } from "@realtime-avatar/db/credits/usage-sessions";
import { isId } from "@realtime-avatar/domain/id";
import { PRICE, seedCaller, seedMovement, seedSession } from "@realtime-avatar/testing/credits";
import { operatorOrigin, seedTenant } from "@realtime-avatar/testing/seeds";
import { temporaryFolder } from "@realtime-avatar/testing/temporary-folder";
import { cliTests, UNKNOWN_SESSION, UNKNOWN_TENANT } from "../../test/cli.ts";

const { db, cli, cliProcess, json, jsonProcess } = await cliTests();
/** The credits for one hour that every new tenant has in the test environment. */
const HOUR = 3_600_000_000;

const credits = (command: string, tenant: string, amount: number | string, reference: string, ...more: string[]) => [
  ...`credits ${command} --tenant ${tenant} --amount ${amount}`.split(" "),
  ...["--reference", reference, ...more],
];
/** The first line of a refusal, with its exit code. */
const refusal = async (...args: string[]) => {
  const { code, stdout, stderr } = await cli(...args);
  return [code, stdout, stderr.trim()];
};

describe("a grant", () => {
  test("a grant, repeated with its reference: written once, with one event", async () => {
    const tenant = await seedTenant(db);
    const granted = await jsonProcess(...credits("grant", tenant, 5_000_000, "invoice 1", "--environment", "live"));
    expect(granted).toEqual({
      outcome: "written",
      id: granted.id,
      tenantId: tenant,
      environment: "live",
      kind: "grant",
      amountCreditMicros: 5_000_000,
      sessionId: null,
      reference: "invoice 1",
    });
    expect(isId("ent", granted.id)).toBe(true);
    const again = await json(...credits("grant", tenant, 5_000_000, "invoice 1", "--environment", "live"));
    expect(again).toEqual({ ...granted, outcome: "repeated", id: null });
    // A reference belongs to one environment, by default test.
    const { stdout } = await cli(...credits("grant", tenant, 7, "invoice 1"));
    expect(stdout).toMatch(/^Granted 7 credit micros \(test\), entry ent_[0-9a-z]{26}\.\n$/);
    expect((await cli(...credits("grant", tenant, 7, "invoice 1"))).stdout).toStartWith("Nothing to do: ");
    expect(await json("credits", "balance", "--tenant", tenant)).toMatchObject([
      { environment: "live", availableCreditMicros: 5_000_000, lifetimeGrantedCreditMicros: 5_000_000 },
      { environment: "test", availableCreditMicros: HOUR + 7 },
    ]);
    const events = await json("audit", "tail", "--tenant", tenant, "--action", "credits.granted");
    expect(events).toMatchObject([
      { environment: "live", targetId: granted.id, actorId: null, actorKeyId: null },
      { environment: "test" },
    ]);
  });

  test("a grant, not possible: exit 1 with the reason", async () => {
    const tenant = await seedTenant(db);
    await json(...credits("grant", tenant, 1, "a"));
    expect(await refusal(...credits("grant", tenant, 2, "a"))).toEqual([
      1,
      "",
      "Another movement has this reference, with another kind, amount or session. Use a reference once.",
    ]);
    expect(await refusal(...credits("grant", UNKNOWN_TENANT, 1, "a"))).toEqual([1, "", "No tenant has this id."]);
    expect(await refusal(...credits("grant", tenant, Number.MAX_SAFE_INTEGER, "b"))).toEqual([
      1,
      "",
      "A tenant can be granted at most 9,007,199,254,740,991 credit micros in all.",
    ]);
    expect(await json("credits", "balance", "--tenant", tenant)).toMatchObject([
      { availableCreditMicros: 0 },
      { availableCreditMicros: HOUR + 1 },
    ]);
  });

  test.each([
    ["0", "x", "test", "--amount: Must be from 1 to 9007199254740991."],
    ["9007199254740992", "x", "test", "--amount: Must be from 1 to 9007199254740991."],
    ["1.5", "x", "test", "--amount: "],
    ["-1", "x", "test", "--amount"],
    ["1", "", "test", "--reference: Must have 1 to 160 characters."],
    ["1", "x", "prod", "--environment: "],
  ])("a grant, of %s with the reference %p in %s: exit 2", async (amount, reference, environment, message) => {
    const [code, stdout, stderr] = await refusal(
      ...credits("grant", UNKNOWN_TENANT, amount, reference, "--environment", environment),
    );
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toContain(message);
  });

  test("a grant, without a reference: exit 2", async () => {
    const [code, , stderr] = await refusal("credits", "grant", "--tenant", UNKNOWN_TENANT, "--amount", "1");
    expect([code, stderr]).toEqual([2, expect.stringContaining("--reference")]);
  });
});

describe("a void", () => {
  test("a void, of more than is available: refused; otherwise written once", async () => {
    const tenant = await seedTenant(db);
    const { caller } = await seedCaller(db, tenant, { environment: "test" });
    await seedSession(db, caller);
    const most = HOUR - 10 * PRICE;
    expect(await refusal(...credits("void", tenant, most + 1, "v"))).toEqual([
      1,
      "",
      "The tenant has less available than this amount. Credits held by open sessions cannot be voided.",
    ]);
    expect((await jsonProcess(...credits("void", tenant, most, "v"))).outcome).toBe("written");
    expect((await json(...credits("void", tenant, most, "v"))).outcome).toBe("repeated");
    const [, balance] = await json("credits", "balance", "--tenant", tenant);
    expect(balance).toMatchObject({ availableCreditMicros: 0, reservedCreditMicros: 10 * PRICE });
    expect(await json("audit", "tail", "--tenant", tenant, "--action", "credits.voided")).toHaveLength(1);
  });
});

describe("a refund", () => {
  test("a refund, up to the charge: returned to the account and every key; above it: refused", async () => {
    const tenant = await seedTenant(db);
    await seedMovement(db, tenant);
    const root = await seedCaller(db, tenant);
    const child = await seedCaller(db, tenant, {}, root.record);
    const session = await seedSession(db, child.caller);
    const adjust = (amount: number, reference: string) =>
      credits("adjust", tenant, amount, reference, "--session", session);
    const tooMuch =
      "The session was charged less than this amount, refunds deducted. An open session was not charged yet.";
    expect(await refusal(...adjust(1, "r1"))).toEqual([1, "", tooMuch]);
    const release = { isEngine: true, used: 4 * PRICE, reason: null };
    await releaseSession(db, session, release, child.caller, operatorOrigin());
    expect(await jsonProcess(...adjust(3 * PRICE, "r1"))).toMatchObject({ environment: "live", sessionId: session });
    expect((await json(...adjust(3 * PRICE, "r1"))).outcome).toBe("repeated");
    expect(await refusal(...adjust(PRICE + 1, "r2"))).toEqual([1, "", tooMuch]);
    expect((await json(...adjust(PRICE, "r2"))).outcome).toBe("written");
    const [balance] = await json("credits", "balance", "--tenant", tenant);
    expect(balance).toMatchObject({ availableCreditMicros: 100 * PRICE, lifetimeUsedCreditMicros: 0 });
    const meters = await db.client`select settled from api_key_meters where tenant_id = ${tenant}`;
    expect(meters.map(({ settled }) => Number(settled))).toEqual([0, 0]);
    expect(await json("audit", "tail", "--tenant", tenant, "--action", "credits.adjusted")).toHaveLength(2);
    expect(await refusal(...credits("adjust", tenant, 1, "x", "--session", UNKNOWN_SESSION))).toEqual([
      1,
      "",
      "The tenant has no session with this id.",
    ]);
    expect((await json("credits", "verify", "--tenant", tenant)).findings).toBe(0);
    expect((await cli("credits", "verify", "--tenant", tenant)).stdout).toBe("No drift in 1 tenant.\n");
    // Finds a session of test too, but not a session of another tenant.
    const { caller } = await seedCaller(db, tenant, { environment: "test" });
    const inTest = await seedSession(db, caller);
    await releaseSession(db, inTest, release, caller, operatorOrigin());
    const refund = (of: string) => credits("adjust", of, 1, "r3", "--session", inTest);
    expect(await json(...refund(tenant))).toMatchObject({ environment: "test", sessionId: inTest });
    const [code, , reason] = await refusal(...refund(await seedTenant(db)));
    expect([code, reason]).toEqual([1, "The tenant has no session with this id."]);
  });
});

describe("the entries", () => {
  test("entries, of both environments: newest first, filtered and paged", async () => {
    const tenant = await seedTenant(db);
    await json(...credits("grant", tenant, 20 * PRICE, "a\u0007", "--environment", "live"));
    const { caller } = await seedCaller(db, tenant);
    const session = await seedSession(db, caller);
    const list = (...args: string[]) => json("credits", "entries", "--tenant", tenant, ...args);
    const kinds = ({ data }: { data: { kind: string }[] }) => data.map(({ kind }) => kind);
    const all = await jsonProcess("credits", "entries", "--tenant", tenant);
    expect(kinds(all)).toEqual(["hold", "grant", "grant"]);
    const first = await list("--limit", "2");
    expect([...first.data, ...(await list("--cursor", first.nextCursor)).data]).toEqual(all.data);
    expect(kinds(await list("--session", session))).toEqual(["hold"]);
    expect(kinds(await list("--key", caller.id))).toEqual(["hold"]);
    expect(kinds(await list("--kind", "grant"))).toEqual(["grant", "grant"]);
    const { stdout } = await cli("credits", "entries", "--tenant", tenant);
    expect(stdout).toMatch(/ AMOUNT \(CREDIT MICROS\) .*\n.* 20,000,000 /s);
    expect(stdout).toContain("a\\u{7}");
    expect((await refusal("credits", "entries", "--tenant", tenant, "--kind", "x"))[0]).toBe(2);
  });
});

describe("a balance", () => {
  test("a balance, shown: with its unit; for an unknown tenant: exit 1", async () => {
    const tenant = await seedTenant(db);
    const { stdout } = await cliProcess("credits", "balance", "--tenant", tenant);
    expect(stdout).toMatch(/^ENVIRONMENT +AVAILABLE \(CREDIT MICROS\) .*^test +3,600,000,000 /ms);
    expect(await refusal("credits", "balance", "--tenant", UNKNOWN_TENANT)).toEqual([1, "", "No tenant has this id."]);
  });
});

describe("credits verify", () => {
  test("--metrics-file, with the path of a folder: exit 1, and no temporary file remains", async () => {
    const folder = await temporaryFolder();
    await mkdir(join(folder, "credits.prom"));
    const { code } = await cli("credits", "verify", "--metrics-file", join(folder, "credits.prom"));
    expect([code, await readdir(folder)]).toEqual([1, ["credits.prom"]]);
    await rm(folder, { recursive: true });
  });

  test("credits verify, before and after a counter is changed: 0 findings, then 1, also in the metrics", async () => {
    const folder = await temporaryFolder();
    const file = join(folder, "credits.prom");
    const good = await json("credits", "verify", "--metrics-file", file);
    expect(good).toMatchObject({ findings: 0, drift: [] });
    const [{ tenants } = {}] = await db.client`select count(*)::integer as tenants from tenants`;
    expect(good.tenants).toBe(tenants);
    expect(await readFile(file, "utf8")).toContain("\nrealtime_avatar_credit_drift 0\n");
    expect((await cli("credits", "verify")).stdout).toMatch(/^No drift in \d+ tenants?\.\n$/);

    const tenant = await seedTenant(db);
    await db.client`update credit_accounts set settled = 5 where tenant_id = ${tenant} and environment = 'test'`;
    const { code, stdout } = await cliProcess("credits", "verify", "--json", "--metrics-file", file);
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({
      tenants: good.tenants + 1,
      findings: 1,
      drift: [
        {
          tenantId: tenant,
          invariant: "account_replay",
          subject: "test",
          counter: "settled",
          expected: "0",
          actual: "5",
        },
      ],
    });
    expect(await readFile(file, "utf8")).toContain("\nrealtime_avatar_credit_drift 1\n");
    expect(await readdir(folder)).toEqual(["credits.prom"]);
    expect(await refusal("credits", "verify", "--tenant", UNKNOWN_TENANT)).toEqual([1, "", "No tenant has this id."]);
    await db.client`update credit_accounts set open_sessions = 3 where tenant_id = ${tenant} and environment = 'test'`;
    const { stdout: text } = await cli("credits", "verify", "--tenant", tenant);
    expect(text).toMatch(/^TENANT .* UNIT$/m);
    expect(text).toMatch(/ account_replay +test +test +settled +0 +5 +credit micros$/m);
    expect(text).toMatch(/ account_sessions +test +test +openSessions +0 +3 +-$/m);
    await db.client`update credit_accounts set settled = 0, open_sessions = 0 where tenant_id = ${tenant}`;
    await rm(folder, { recursive: true });
  });
});

describe("a limit of open sessions", () => {
  test("changed in one environment: only there, with an audit event; a wrong number or an unknown tenant: refused", async () => {
    const tenant = await seedTenant(db);
    const limit = (number: string, of: string = tenant) =>
      cli("credits", "limit", "--tenant", of, "--max-concurrent-sessions", number, "--environment", "live");
    expect((await limit("5000")).stdout).toBe("At most 5000 sessions of the tenant are open at once (live).\n");
    const rows = await db.client`
      select environment, max_concurrent_sessions::integer as most from credit_accounts where tenant_id = ${tenant}
      order by environment`;
    expect(rows.map((row) => row["most"])).toEqual([5000, 1000]);
    expect(await json("audit", "tail", "--tenant", tenant, "--action", "credits.limit_changed")).toMatchObject([
      { environment: "live", targetId: tenant, actorId: null, changedFields: ["maxConcurrentSessions"] },
    ]);
    expect((await limit("0")).code).toBe(2);
    const inTest = await cli("credits", "limit", "--tenant", tenant, "--max-concurrent-sessions", "7");
    expect(inTest.stdout).toBe("At most 7 sessions of the tenant are open at once (test).\n");
    expect((await limit("5", UNKNOWN_TENANT)).stderr).toContain("No tenant has this id.");
  });
});

describe("the threshold of low credits", () => {
  test("changed and cleared in one environment: only there, with an audit event; a wrong amount or an unknown tenant: refused", async () => {
    const tenant = await seedTenant(db);
    const threshold = (amount: string, of: string = tenant) =>
      cli("credits", "threshold", "--tenant", of, "--amount", amount, "--environment", "live");
    const text = "The event credits.low is sent when less than 5,000 credit micros becomes available (live).\n";
    expect((await threshold("5000")).stdout).toBe(text);
    expect(await json("credits", "balance", "--tenant", tenant)).toMatchObject([
      { environment: "live", lowThresholdCreditMicros: 5000 },
      { environment: "test", lowThresholdCreditMicros: null },
    ]);
    expect(await json("audit", "tail", "--tenant", tenant, "--action", "credits.limit_changed")).toMatchObject([
      { environment: "live", targetId: tenant, actorId: null, changedFields: ["lowThresholdCreditMicros"] },
    ]);
    expect((await threshold("none")).stdout).toBe("The event credits.low is not sent (live).\n");
    const inTest = await json("credits", "threshold", "--tenant", tenant, "--amount", "6000");
    expect(inTest).toEqual({ tenantId: tenant, environment: "test", lowThresholdCreditMicros: 6000 });
    expect(await json("credits", "balance", "--tenant", tenant)).toMatchObject([
      { environment: "live", lowThresholdCreditMicros: null },
      { environment: "test", lowThresholdCreditMicros: 6000 },
    ]);
    for (const bad of ["0", "x", "1.5"]) expect([bad, (await threshold(bad)).code]).toEqual([bad, 2]);
    expect((await threshold("5", UNKNOWN_TENANT)).stderr).toContain("No tenant has this id.");
  });
});
