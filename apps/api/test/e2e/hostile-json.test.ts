/** Hostile JSON, over real HTTP into a real database: each case gets 400, or is stored with its exact meaning. */
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { startApi } from "../support/api.ts";
import { avatar, hostileCalls, inMetadata } from "../support/hostile.ts";

const api = await startApi();
const key = await api.key();

const { send, stored, expectRefused } = hostileCalls(api, key);

const bytes = (...parts: (string | number[])[]): Uint8Array =>
  Buffer.concat(parts.map((part) => (typeof part === "string" ? Buffer.from(part) : Buffer.from(part))));

/** A body with these bytes in a string. */
const inText = (given: number[]): Uint8Array => bytes(avatar('"modelId":"a'), given, '"}');
const valid = avatar('"metadata":{"a":[1,-2.5e3,"\\u00e9\\n",true,false,null,{"b":{}}]}');

describe("malformed JSON", () => {
  test("a body, cut at any byte: 400", async () => {
    for (let length = 0; length < valid.length; length++) {
      const { status, body } = await send(valid.slice(0, length));
      expect([length, status, body.code]).toEqual([length, 400, "malformed_json"]);
    }
    expect((await send(valid)).status).toBe(201);
  });

  // After "Parsing JSON is a minefield" (N. Seriot, 2016): tokens of JSON, and similar invalid ones.
  const TOKENS = [
    ...`[ ] { } , : "a" "a":1 1 -2.5e3 true null // /* ' " 01 1. .5 +1 1e 0x1f 1_0 NaN Infinity tru`.split(" "),
    ...["\n", "\t", "\0", "\f", "\u00a0", "\u2028", "\ufeff", '"a\nb"'],
    ...['"\\n\\u00e9"', '"\\u12"', '"\\x"', '"\\U0041"', "\\"],
  ];
  const readsAs = (text: string): { value: unknown } | null => {
    try {
      return { value: JSON.parse(text) };
    } catch {
      return null;
    }
  };

  test("a value of random tokens: 400 if JSON.parse refuses it, otherwise stored as parsed", async () => {
    const texts = fc.array(fc.constantFrom(...TOKENS), { maxLength: 5 }).map((tokens) => tokens.join(""));
    const verdicts = { read: 0, refused: 0 };
    await fc.assert(
      fc.asyncProperty(texts, async (text) => {
        const body = inMetadata(text);
        const read = readsAs(body);
        verdicts[read === null ? "refused" : "read"]++;
        if (read === null) return expectRefused(body, 400, "malformed_json");
        const answer = await send(body);
        expect([text, answer.status]).toEqual([text, 201]);
        expect(await stored(answer.body.id)).toEqual((read.value as { metadata: unknown }).metadata);
      }),
      { seed: 31, numRuns: 150 },
    );
    expect(Math.min(verdicts.read, verdicts.refused)).toBeGreaterThan(0);
  });

  test.each<[string, Uint8Array]>([
    ["a byte order mark", bytes([0xef, 0xbb, 0xbf], valid)],
    ["a UTF-16 byte order mark", bytes([0xff, 0xfe], valid)],
    ["UTF-16", Buffer.from(valid, "utf16le")],
    ["a lone continuation byte", inText([0x80])],
    ["a truncated sequence of two", inText([0xc3])],
    ["a truncated sequence of three", inText([0xe2, 0x82])],
    ["a truncated sequence of four", inText([0xf0, 0x9f, 0x98])],
    ["an overlong slash", inText([0xc0, 0xaf])],
    ["an overlong U+0000", inText([0xc0, 0x80])],
    ["an overlong sequence of three", inText([0xe0, 0x80, 0xaf])],
    ["an overlong sequence of four", inText([0xf0, 0x80, 0x80, 0xaf])],
    ["a surrogate in UTF-8", inText([0xed, 0xa0, 0x80])],
    ["a pair of surrogates in UTF-8", inText([0xed, 0xa0, 0xbd, 0xed, 0xb8, 0x80])],
    ["beyond U+10FFFF", inText([0xf4, 0x90, 0x80, 0x80])],
    ["a sequence of five", inText([0xf8, 0x88, 0x80, 0x80, 0x80])],
    ["the byte FE", inText([0xfe])],
    ["the byte FF", inText([0xff])],
    ["Latin-1", bytes(avatar('"modelId":"caf'), [0xe9], '"}')],
    ["a bad byte outside a string", bytes(valid, [0xff])],
    ["a bad byte in a member name", bytes('{"', [0xff], '":1}')],
  ])("invalid bytes, %s: 400", async (_, body) => {
    await expectRefused(body, 400, "malformed_json");
  });

  test("a body, nested deeper than 64: 400", async () => {
    const nest = (depth: number, open: string, close: string) => open.repeat(depth) + close.repeat(depth);
    // The body and metadata themselves are two levels.
    expect((await send(inMetadata(nest(62, "[", "]")))).status).toBe(201);
    await expectRefused(inMetadata(nest(63, "[", "]")), 400, "malformed_json");
    const objects = (depth: number) => `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`;
    expect((await send(inMetadata(objects(62)))).status).toBe(201);
    await expectRefused(inMetadata(objects(63)), 400, "malformed_json");
    await expectRefused("[".repeat(100_000), 400, "malformed_json");
    await expectRefused(nest(60_000, "[", "]"), 400, "malformed_json");
    await expectRefused(objects(20_000), 400, "malformed_json");
    // Brackets in strings, and many side by side, are not nested.
    expect((await send(inMetadata(`"${"[{".repeat(500)}\\"["`))).status).toBe(201);
    expect((await send(inMetadata(`[${Array(500).fill("[{}]")}]`))).status).toBe(201);
  });
});

describe("well-formed JSON", () => {
  test("a body, with white space and in another order: 201", async () => {
    const { status, body } = await send(' \t\r\n{\n"sourceKind" :\t"image" ,\r"displayName":"Ada"} \n');
    expect([status, body.displayName]).toEqual([201, "Ada"]);
  });

  test("a body, two members of one name: the last counts", async () => {
    const { status, body } = await send(
      '{"displayName":5,"displayName":"last","sourceKind":"x","sourceKind":"image","metadata":{"a":1,"a":2}}',
    );
    expect([status, body.displayName, body.metadata]).toEqual([201, "last", { a: 2 }]);
    await expectRefused('{"displayName":"first","displayName":5,"sourceKind":"image"}', 422, "validation_failed");
  });

  test("a body, with escapes: the same as without", async () => {
    const { status, body } = await send(
      '{"display\\u004eame":"\\u0041\\/\\"\\\\\\b\\f\\n\\r\\t\\ud83d\\ude00","sourceKind":"image"}',
    );
    expect([status, body.displayName]).toEqual([201, 'A/"\\\b\f\n\r\t😀']);
  });

  test.each(["__proto__", "constructor", "prototype", "toString", "hasOwnProperty", "toJSON", "then", "length", ""])(
    "metadata, with a member %j: plain data",
    async (name) => {
      const metadata = `{"${name}":{"polluted":true,"${name}":[{"${name}":1}]}}`;
      const { status, body, text } = await send(avatar(`"metadata":${metadata},"settings":${metadata}`));
      expect(status).toBe(201);
      expect(text).toContain(`"metadata":${metadata}`);
      expect(JSON.stringify(await stored(body.id))).toBe(metadata);
      expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
      await expectRefused(avatar(`"${name}":{"polluted":true}`), 422, "validation_failed");
    },
  );
});
