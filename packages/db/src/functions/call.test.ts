/** Parameters of functions: encoded here, read by PostgreSQL. */
import { expect, test } from "bun:test";
import { codePoint } from "@realtime-avatar/domain/testing";
import { fileDatabase } from "@realtime-avatar/testing/fixture";
import fc from "fast-check";
import { composite, list } from "./call.ts";

type Values = {
  word: string | null;
  words: (string | null)[] | null;
  bytes: Uint8Array | null;
  time: Date | null;
  object: object | null;
  whole: number | null;
  yes: boolean | null;
};
const values = composite<Values>("word", "words", "bytes", "time", "object", "whole", "yes");

const database = await fileDatabase();
await database.db.client.unsafe(`
  create type encoded as (word text, words text[], bytes bytea, time timestamptz, object json, whole bigint, yes boolean)`);

/** Text that a careless encoder would confuse with its syntax. PostgreSQL stores neither U+0000 nor lone surrogates. */
const word = fc.oneof(
  fc.constantFrom(
    "",
    " ",
    "NULL",
    "null",
    '"',
    "\\",
    "\\\\",
    "{}",
    "()",
    ",",
    '","',
    "\n\r\t",
    "\\x00",
    "'",
    "$1",
    "🦊",
  ),
  fc.string({ unit: codePoint }).map((text) => text.replaceAll("\0", "")),
  fc.string({ unit: fc.constantFrom('"', "\\", ",", "{", "}", "(", ")", "\n", " ", "N", "é", "🦊") }),
);
const nullable = <Value>(arbitrary: fc.Arbitrary<Value>) => fc.option(arbitrary, { nil: null });
const row = fc.record<Values>({
  word: nullable(word),
  words: nullable(fc.array(nullable(word), { maxLength: 4 })),
  bytes: nullable(fc.uint8Array({ maxLength: 20 })),
  time: nullable(
    fc.date({ min: new Date("0001-01-01T00:00:00Z"), max: new Date("9999-12-31T23:59:59.999Z"), noInvalidDate: true }),
  ),
  object: nullable(fc.dictionary(word, fc.oneof(word, fc.integer(), fc.constant(null), fc.array(word)))),
  whole: nullable(fc.maxSafeInteger()),
  yes: nullable(fc.boolean()),
});

test("a random list of records: read as sent", async () => {
  const property = fc.asyncProperty(fc.array(nullable(row), { maxLength: 5 }), async (rows) => {
    const read = await database.db.run<Record<string, unknown>>(
      `select word, to_json(words)::text as words, bytes,
        to_char(time at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as time, object::text as object, whole, yes
      from unnest($1::encoded[]) with ordinality order by ordinality`,
      [list(values)(rows)],
    );
    // A null element is a row of nulls.
    const empty: Values = { word: null, words: null, bytes: null, time: null, object: null, whole: null, yes: null };
    const found = read.map((one) => ({
      ...one,
      words: one["words"] && JSON.parse(one["words"] as string),
      bytes: one["bytes"] && [...(one["bytes"] as Uint8Array)],
      object: one["object"] && JSON.parse(one["object"] as string),
      whole: one["whole"] === null ? null : Number(one["whole"]),
    }));
    const sent = rows.map((one) => ({
      ...(one ?? empty),
      time: one?.time?.toISOString() ?? null,
      bytes: one?.bytes ? [...one.bytes] : null,
      object: one?.object ? JSON.parse(JSON.stringify(one.object)) : null,
    }));
    expect(found as unknown[]).toEqual(sent);
  });
  await fc.assert(property, { numRuns: process.env["LONG"] === "1" ? 500 : 150 });
});

test("a null element in a list: null, not a record", async () => {
  const [read] = await database.db.run<{ isNull: boolean }>(`select ($1::encoded[])[1] is null as "isNull"`, [
    list(values)([null]),
  ]);
  expect(read?.isNull).toBe(true);
});

test("random lists of bytes and numbers: read as sent", async () => {
  const property = fc.asyncProperty(
    fc.array(nullable(fc.uint8Array({ maxLength: 40 }))),
    fc.array(nullable(fc.integer())),
    async (bytes, numbers) => {
      const [read] = await database.db.run<{ bytes: string; numbers: string }>(
        `select to_json(array(select encode(one, 'hex') from unnest($1::bytea[]) one))::text as bytes,
          to_json($2::integer[])::text as numbers`,
        [list()(bytes), list()(numbers)],
      );
      const sent = bytes.map((one) => (one === null ? null : Buffer.from(one).toString("hex")));
      expect([JSON.parse(read?.bytes ?? ""), JSON.parse(read?.numbers ?? "")]).toEqual([sent, numbers]);
    },
  );
  await fc.assert(property, { numRuns: 50 });
});

test("a view of a buffer, encoded: only the bytes of the view", async () => {
  const surrounded = new Uint8Array([1, 2, 3, 4]).subarray(1, 3);
  expect(list()([surrounded])).toBe('{"\\\\x0203"}');
});
