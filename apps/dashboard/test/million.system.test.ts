/**
 * A tenant with a million keys and a million avatars, in the browser. The first rows are shown at once, also on a slow
 * network. A search finds each row. `LONG=1` runs it and prints the times.
 */
import { beforeAll, describe, expect, test } from "bun:test";
import { newId } from "@realtime-avatar/domain/id";
import { BROWSER } from "@realtime-avatar/testing/browser";
import { random } from "@realtime-avatar/testing/random-bytes";
import { seedCaller } from "./support/calls.ts";
import { expectQuiet } from "./support/person.ts";
import { fileWorld } from "./support/world.ts";

const isLong = process.env["LONG"] === "1";
const LONG_MS = 900_000;
const MANY = 1_000_000;
/** Number of measurements of each time. The first one also loads the files of the page. */
const TIMES = 5;
/** Bytes per second, and latency in milliseconds. The first is the slow 4G of Lighthouse. */
const NETWORKS = [
  { name: "1.6 Mbit/s, 150 ms", throughput: 200_000, latency: 150 },
  { name: "400 kbit/s, 400 ms", throughput: 50_000, latency: 400 },
];
const LISTS = [
  { link: "Keys", list: "API keys", path: "/keys", api: "/api-keys", row: "Old 999999" },
  { link: "Avatars", list: "Avatars", path: "/avatars", api: "/avatars", row: "Old 999999" },
];

type Page = { data: unknown[]; nextCursor: string | null };

const note = (text: string): void => void process.stderr.write(`${text}\n`);
const milliseconds = (times: readonly number[]): string =>
  times
    .toSorted((a, b) => a - b)
    .map((time) => time.toFixed(0))
    .join(", ");

const { service, owner, page } = isLong ? await fileWorld() : ({} as Awaited<ReturnType<typeof fileWorld>>);

describe.skipIf(!(isLong && BROWSER))("a million keys and avatars in Chromium", () => {
  beforeAll(async () => {
    const { client } = service.database.db;
    const start = Date.UTC(2026, 0, 1);
    const ids = Array.from({ length: MANY }, (_, at) => newId("ava", new Date(start + at), random).slice(4));
    await client`
      insert into avatars (tenant_id, id, environment, display_name, source_kind, model_id, status, cache_version, settings,
        metadata, version, created_at, updated_at)
      select ${service.tenantId}, 'ava_' || id, 'live', case at when 5 then 'The needle' else 'Old ' || at - 1 end, 'image', 'm',
        'ready', 0, '{}', '{}', 1, now(), now()
      from unnest(${ids}::text[]) with ordinality as row (id, at) order by at`;
    await client`
      insert into api_keys (tenant_id, id, key_id, environment, name, scopes, lineage, version, created_at)
      select ${service.tenantId}, 'key_' || id, lpad(at::text, 16, '0'), 'live',
        case at when 5 then 'The needle' else 'Old ' || at - 1 end, '{avatars:read}', '{}', 1, now()
      from unnest(${ids}::text[]) with ordinality as row (id, at) order by at`;
    for (const table of ["avatars", "api_keys"]) await client.unsafe(`vacuum analyze ${table}`);
  }, LONG_MS);

  test(
    "the first rows, by a click and by the address, on slow networks: shown",
    async () => {
      const devtools = await owner.context.newCDPSession(page);
      for (const { name, throughput, latency } of NETWORKS) {
        const rate = { downloadThroughput: throughput, uploadThroughput: throughput, latency, offline: false };
        await devtools.send("Network.enable");
        await devtools.send("Network.emulateNetworkConditions", rate);
        for (const { link, list, path, row } of LISTS) {
          const first = page.getByRole("list", { name: list }).getByText(row, { exact: true });
          const [byClick, byAddress]: [number[], number[]] = [[], []];
          for (let time = 0; time <= TIMES; time++) {
            await owner.open("/audit");
            await page.getByRole("heading", { name: "Audit", level: 1 }).waitFor();
            const clickedAt = performance.now();
            await page.getByRole("link", { name: link, exact: true }).click();
            await first.waitFor();
            byClick.push(performance.now() - clickedAt);
            const openedAt = performance.now();
            await page.goto(`${service.url}/dashboard${path}`, { waitUntil: "commit" });
            await first.waitFor();
            byAddress.push(performance.now() - openedAt);
          }
          note(`${list}, ${name}: by a click ${milliseconds(byClick.slice(1))} ms`);
          note(`${list}, ${name}: by its address ${milliseconds(byAddress.slice(1))} ms`);
        }
      }
      await devtools.send("Network.emulateNetworkConditions", {
        ...{ downloadThroughput: -1, uploadThroughput: -1, latency: 0, offline: false },
      });
      expectQuiet(owner);
    },
    LONG_MS,
  );

  test(
    "a search for one of a million: found, with few nodes in the page",
    async () => {
      for (const { list, path } of LISTS) {
        await owner.open(path);
        await page.getByRole("searchbox", { name: "Search by name or id" }).fill("NEEDLE");
        await page.getByRole("list", { name: list }).getByText("The needle", { exact: true }).waitFor();
        await page.getByText(/^1 (key|avatar)$/).waitFor();
        expect(await page.locator("*").count()).toBeLessThan(1000);
      }
      expectQuiet(owner);
    },
    LONG_MS,
  );

  test(
    "a search, by a program: the first page, or the one row",
    async () => {
      const call = await seedCaller(service, { name: "Reader", environment: "live", scopes: ["*"] });
      const searches: [string, number][] = [
        ["", 50],
        ["name=needle", 1],
        ["name=old%2099999", 11],
        ["name=old", 50],
        ["name=absent%20text", 0],
        ["from=2026-01-01T00:00:00Z&name=needle", 1],
      ];
      for (const { api } of LISTS) {
        for (const [query, count] of searches) {
          const times: number[] = [];
          for (let time = 0; time <= TIMES; time++) {
            const askedAt = performance.now();
            let page = (await call("GET", `${api}?limit=50&${query}`)) as Page;
            times.push(performance.now() - askedAt);
            let found = page.data.length;
            // A page can be short: whether a text counts as rare depends on the sampled names.
            while (found < count && page.nextCursor !== null) {
              page = (await call("GET", `${api}?limit=50&${query}&cursor=${page.nextCursor}`)) as Page;
              found += page.data.length;
            }
            expect([api, query, found]).toEqual([api, query, count]);
          }
          note(`GET ${api}?${query}: ${milliseconds(times.slice(1))} ms`);
        }
      }
    },
    LONG_MS,
  );
});
