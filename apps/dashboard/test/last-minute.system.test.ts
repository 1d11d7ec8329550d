/** A call whose hold grows, on its page in Chromium, with LiveKit and an avatar worker. */
import { describe, expect, setDefaultTimeout } from "bun:test";
import { findCreditDrift } from "@realtime-avatar/db/credits/invariants";
import { HOLD_GROWTH } from "@realtime-avatar/domain/calls/limits";
import { until } from "@realtime-avatar/testing/until";
import type { Page } from "playwright-core";
import { expectAccessible } from "./support/axe.ts";
import { callPages } from "./support/call-page.ts";
import { type CallWorld, callWorld, missing } from "./support/call-world.ts";
import { seedCaller } from "./support/calls.ts";

const skipped = missing === null ? "" : ` (skipped: ${missing})`;
setDefaultTimeout(120_000);
const HOUR = 3600;
/** More seconds than a call needs to start, but too few to leave its last minute. */
const FIRST_SECONDS = 65;
const world = missing === null ? await callWorld({ MAX_CALL_SECONDS: `${HOUR}` }) : ({} as CallWorld);
const { service } = world;

/** Changes the body of the page's POST requests to a path. */
const changeBody = (page: Page, path: string, change: object): Promise<unknown> =>
  page.route(path, (route) => {
    const request = route.request();
    if (request.method() !== "POST") return route.continue();
    return route.continue({ postData: JSON.stringify({ ...request.postDataJSON(), ...change }) });
  });

describe.skipIf(missing !== null)(`the last minute of a call in Chromium${skipped}`, () => {
  const { openPage, test } = callPages(world, 50_000);

  test("a call of an hour with a cap of 65 seconds: a countdown; a higher cap: the hold grows; the countdown stops", async () => {
    const call = await seedCaller(service, { name: "Website", environment: "live", scopes: ["*"] });
    const { id } = (await call("POST", "/avatars", { displayName: "Grace", sourceKind: "image" })) as { id: string };
    const { client } = service.database.db;
    await client`update avatars set status = 'ready'`;
    const page = await openPage();
    await changeBody(page, "**/api/v1/api-keys", { spendLimitCreditMicros: FIRST_SECONDS * 1_000_000 });
    await changeBody(page, "**/api/v1/realtime/livekit/session", { max_session_seconds: HOUR });
    await page.goto(`${service.url}/dashboard/call?avatar=${id}`);
    await page.getByRole("button", { name: "Try the microphone", exact: true }).click();
    await page.getByRole("button", { name: "Start the call", exact: true }).click();
    const countdown = page.getByRole("timer");
    const text = /^Ends in \d+ s\. The credits that it can hold are used then\.$/;
    await countdown.filter({ hasText: text }).waitFor();
    const grown = FIRST_SECONDS + HOLD_GROWTH.stepSeconds;
    await client`update api_keys set spend_limit_credit_micros = ${grown * 1_000_000} where name = 'Try a call'`;
    await countdown.waitFor({ state: "detached" });
    const [row] = await client`
      select id, reserved::float8 / price::float8 as held from usage_sessions where ended_at is null`;
    expect(row?.["held"]).toBe(grown);
    await expectAccessible(page, "in the call");
    const details = await page.context().newPage();
    await details.goto(`${service.url}/dashboard/usage?tab=calls&session=${row?.["id"]}`);
    await details.getByText("nothing yet; holds 665 credits, for 11 min 5 s").waitFor();
    const entries = details.getByRole("list", { name: "Entries of this session" }).getByRole("listitem");
    await entries.nth(1).waitFor();
    expect(await entries.count()).toBe(2);
    await details.close();
    await page.getByRole("button", { name: "Hang up", exact: true }).click();
    await page.getByText("You hung up.").waitFor();
    const { db } = service.database;
    await until(async () => (await client`select from usage_sessions where ended_at is null`).length === 0);
    expect(await findCreditDrift(db, service.tenantId, 10)).toEqual([]);
  });
});
