/** Hostile input, over real HTTP into a real database: it ends in its documented 4xx, or comes back exactly. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { type Answer, rowCounts, startApi, type TestApi } from "../support/api.ts";

// No test asserts a time: a slow disk must not fail one.
setDefaultTimeout(60_000);

let api: TestApi;
let key: string;

beforeAll(async () => {
  api = await startApi();
  key = await api.key();
});
afterAll(() => api.close());

const send = (body: string | Uint8Array): Promise<Answer> => api.call("POST", "/api/v1/avatars", { key, body });
const avatar = (fields: string): string => `{"displayName":"Ada","sourceKind":"image",${fields}}`;
const inMetadata = (value: string): string => avatar(`"metadata":{"v":${value}}`);
const bytes = (...parts: (string | number[])[]): Uint8Array =>
  Buffer.concat(parts.map((part) => (typeof part === "string" ? Buffer.from(part) : Buffer.from(part))));

/** What the database holds of an avatar's metadata, as JSON. */
const stored = async (id: string): Promise<unknown> => {
  const [row] = await api.database.db.client`select metadata::text as text from avatars where id = ${id}`;
  return JSON.parse(row?.["text"]);
};

const expectRefused = async (body: string | Uint8Array, status: number, code: string): Promise<void> => {
  const before = await rowCounts(api.database);
  const answer = await send(body);
  expect([answer.status, answer.body.code]).toEqual([status, code]);
  expect(await rowCounts(api.database)).toEqual(before);
};

const valid = avatar('"metadata":{"a":[1,-2.5e3,"\\u00e9\\n",true,false,null,{"b":{}}]}');

describe("JSON that is none is 400", () => {
  test("cut short at any byte", async () => {
    for (let length = 0; length < valid.length; length++) {
      const { status, body } = await send(valid.slice(0, length));
      expect([length, status, body.code]).toEqual([length, 400, "malformed_json"]);
    }
    expect((await send(valid)).status).toBe(201);
  });

  // After the cases of "Parsing JSON is a minefield" (N. Seriot, 2016): what RFC 8259 refuses.
  test.each([
    "[1,]",
    "[,1]",
    "[1,,2]",
    "[,]",
    "[1 2]",
    "[1",
    "1]",
    "[1]]",
    '["x"',
    '["x]',
    "[a]",
    "[*]",
    '{"a":1,}',
    '{,"a":1}',
    '{"a":1,,"b":2}',
    '{"a" 1}',
    '{"a":}',
    "{:1}",
    "{a:1}",
    "{'a':1}",
    "{1:1}",
    '{"a":1',
    '{"a"',
    '{"a":1}}',
    '{"a":1}#',
    '{"a":1}/**/',
    "// x\n{}",
    "/* x */{}",
    "01",
    "-01",
    "1.",
    ".5",
    "-.5",
    "+1",
    "1e",
    "1e+",
    "1E-",
    "0x1f",
    "0b1",
    "0o7",
    "1_000",
    "1,000",
    "--1",
    "-",
    "-a",
    "Infinity",
    "-Infinity",
    "NaN",
    "1n",
    "１",
    "0e",
    "2.e3",
    "9.e+",
    '"\\x"',
    '"\\u12"',
    '"\\u12g4"',
    '"\\U0041"',
    '"\\"',
    '"\\0"',
    '"\\\'"',
    '"\\\n"',
    '"\\ u0041"',
    "'x'",
    '"a\nb"',
    '"a\tb"',
    '"a\u0000b"',
    '"a\u001fb"',
    '"',
    '"\\ud800\\"',
    "`x`",
    "tru",
    "True",
    "TRUE",
    "nul",
    "None",
    "undefined",
    "fals",
    "truee",
    "true false",
    "[1]\u00a0",
    "\u2028{}",
    "[1]\u0000",
    "[\f1]",
    "[\v1]",
    "\u200b1",
    "<x/>",
    "a=b",
    "---\na: 1",
    '"x" "y"',
    "{} {}",
    "",
    " ",
    "\n",
    "\u0000",
  ])("%j", async (text) => {
    await expectRefused(text, 400, "malformed_json");
    if (text.trim() !== "" && !text.includes("//") && !text.includes("/*")) {
      await expectRefused(inMetadata(text), 400, "malformed_json");
    }
  });

  test.each<[string, Uint8Array]>([
    ["a byte order mark", bytes([0xef, 0xbb, 0xbf], valid)],
    ["a UTF-16 byte order mark", bytes([0xff, 0xfe], valid)],
    ["UTF-16", Buffer.from(valid, "utf16le")],
    ["a lone continuation byte", bytes(avatar('"modelId":"a'), [0x80], '"}')],
    ["a truncated sequence of two", bytes(avatar('"modelId":"a'), [0xc3], '"}')],
    ["a truncated sequence of three", bytes(avatar('"modelId":"a'), [0xe2, 0x82], '"}')],
    ["a truncated sequence of four", bytes(avatar('"modelId":"a'), [0xf0, 0x9f, 0x98], '"}')],
    ["an overlong slash", bytes(avatar('"modelId":"a'), [0xc0, 0xaf], '"}')],
    ["an overlong U+0000", bytes(avatar('"modelId":"a'), [0xc0, 0x80], '"}')],
    ["an overlong sequence of three", bytes(avatar('"modelId":"a'), [0xe0, 0x80, 0xaf], '"}')],
    ["an overlong sequence of four", bytes(avatar('"modelId":"a'), [0xf0, 0x80, 0x80, 0xaf], '"}')],
    ["a surrogate in UTF-8", bytes(avatar('"modelId":"a'), [0xed, 0xa0, 0x80], '"}')],
    ["a pair of surrogates in UTF-8", bytes(avatar('"modelId":"a'), [0xed, 0xa0, 0xbd, 0xed, 0xb8, 0x80], '"}')],
    ["beyond U+10FFFF", bytes(avatar('"modelId":"a'), [0xf4, 0x90, 0x80, 0x80], '"}')],
    ["a sequence of five", bytes(avatar('"modelId":"a'), [0xf8, 0x88, 0x80, 0x80, 0x80], '"}')],
    ["the byte FE", bytes(avatar('"modelId":"a'), [0xfe], '"}')],
    ["the byte FF", bytes(avatar('"modelId":"a'), [0xff], '"}')],
    ["Latin-1", bytes(avatar('"modelId":"caf'), [0xe9], '"}')],
    ["a bad byte outside a string", bytes(valid, [0xff])],
    ["a bad byte in a member name", bytes('{"', [0xff], '":1}')],
  ])("%s", async (_, body) => {
    await expectRefused(body, 400, "malformed_json");
  });

  test("nested deeper than 64", async () => {
    const nest = (depth: number, open: string, close: string) => open.repeat(depth) + close.repeat(depth);
    // The body and metadata are two levels themselves.
    expect((await send(inMetadata(nest(62, "[", "]")))).status).toBe(201);
    await expectRefused(inMetadata(nest(63, "[", "]")), 400, "malformed_json");
    const objects = (depth: number) => `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`;
    expect((await send(inMetadata(objects(62)))).status).toBe(201);
    await expectRefused(inMetadata(objects(63)), 400, "malformed_json");
    await expectRefused("[".repeat(100_000), 400, "malformed_json");
    await expectRefused(nest(60_000, "[", "]"), 400, "malformed_json");
    await expectRefused(objects(20_000), 400, "malformed_json");
    // Brackets in strings, and many side by side, are not depth.
    expect((await send(inMetadata(`"${"[{".repeat(500)}\\"["`))).status).toBe(201);
    expect((await send(inMetadata(`[${Array(500).fill("[{}]")}]`))).status).toBe(201);
  });
});

describe("JSON that is well-formed", () => {
  test("is taken with white space of the four kinds, and in any order", async () => {
    const { status, body } = await send(' \t\r\n{\n"sourceKind" :\t"image" ,\r"displayName":"Ada"} \n');
    expect([status, body.displayName]).toEqual([201, "Ada"]);
  });

  test("of two members with one name, the last counts", async () => {
    const { status, body } = await send(
      '{"displayName":5,"displayName":"last","sourceKind":"x","sourceKind":"image","metadata":{"a":1,"a":2}}',
    );
    expect([status, body.displayName, body.metadata]).toEqual([201, "last", { a: 2 }]);
    await expectRefused('{"displayName":"first","displayName":5,"sourceKind":"image"}', 422, "validation_failed");
  });

  test("with escapes is the same as without", async () => {
    const { status, body } = await send(
      '{"display\\u004eame":"\\u0041\\/\\"\\\\\\b\\f\\n\\r\\t\\ud83d\\ude00","sourceKind":"image"}',
    );
    expect([status, body.displayName]).toEqual([201, 'A/"\\\b\f\n\r\t😀']);
  });

  test.each(["__proto__", "constructor", "prototype", "toString", "hasOwnProperty", "toJSON", "then", "length", ""])(
    "with a member named %j in metadata is plain data",
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

describe("text comes back exactly", () => {
  const texts: [string, string][] = [
    ["emoji", "😀👩‍👩‍👧‍👦🏴󠁧󠁢󠁥󠁮󠁧󠁿🇺🇳"],
    ["combining marks", "Z̷̡͉a̵̛͓l̴̨̫g̶͓̈o̷ é é"],
    ["right to left", "שלום \u202eevil\u202c مرحبا \u2066x\u2069"],
    ["zero width", "a\u200bb\u200cc\u200dd\ufeffe\u2060f"],
    ["line separators", "a\u2028b\u2029c\u0085d"],
    ["C1", Array.from({ length: 0x21 }, (_, index) => String.fromCodePoint(0x7f + index)).join("")],
    ["C0 but U+0000", Array.from({ length: 0x1f }, (_, index) => String.fromCodePoint(1 + index)).join("")],
    ["astral planes", "\u{10000}\u{1f600}\u{2f800}\u{e0001}\u{f0000}\u{10ffff}"],
    ["non-characters", "\ufffe\uffff\u{1fffe}\ufdd0"],
    ["replacement character", "\ufffd"],
    ["every white space", " \u00a0\u1680\u2000\u200a\u202f\u205f\u3000"],
    ["SQL", "'; drop table avatars; -- \\' $1 %s"],
    ["markup", '<script>alert("x")</script>&amp;'],
    ["escapes", "\\u0000 \\n \\\\ \\x00"],
    ["fullwidth and ligatures", "ｆｕｌｌ ﬁ ẞ ı İ"],
  ];

  test.each(texts)("%s", async (_, text) => {
    const asked = { displayName: text, sourceKind: "image", metadata: { [text]: [text, { [text]: text }] } };
    const { status, body } = await api.call("POST", "/api/v1/avatars", { key, body: asked });
    expect(status).toBe(201);
    expect(body.displayName).toBe(text);
    expect(body.metadata).toEqual(asked.metadata);
    const [row] = await api.database.db.client`select display_name from avatars where id = ${body.id}`;
    expect(row?.["display_name"]).toBe(text);
    expect(await stored(body.id)).toEqual(asked.metadata);
  });

  test.each(["\\u0000", "\\ud800", "\\udfff", "\\ude00\\ud83d", "\\ud83dx", "x\\ud83d"])(
    "or is refused: %s",
    async (sequence) => {
      const text = `"a${sequence}b"`;
      await expectRefused(`{"displayName":${text},"sourceKind":"image"}`, 422, "validation_failed");
      await expectRefused(`{"displayName":"x","sourceKind":${text}}`, 422, "validation_failed");
      await expectRefused(avatar(`"modelId":${text}`), 422, "validation_failed");
      await expectRefused(inMetadata(text), 422, "validation_failed");
      await expectRefused(inMetadata(`[{"deep":[${text}]}]`), 422, "validation_failed");
      await expectRefused(inMetadata(`{${text}:1}`), 422, "validation_failed");
      await expectRefused(avatar(`"settings":{${text}:1}`), 422, "validation_failed");
      await expectRefused(avatar(`${text}:1`), 422, "validation_failed");
    },
  );

  test("lengths are counted in code points", async () => {
    const named = (name: string) =>
      api.call("POST", "/api/v1/avatars", { key, body: { displayName: name, sourceKind: "image" } });
    expect((await named("😀".repeat(160))).status).toBe(201);
    expect((await named("😀".repeat(161))).status).toBe(422);
    expect((await named("e\u0301".repeat(80))).status).toBe(201);
    expect((await named("e\u0301".repeat(81))).status).toBe(422);
  });
});

describe("numbers in metadata are IEEE doubles", () => {
  test.each([
    "0",
    "-0",
    "0.0",
    "-0.0",
    "1",
    "-1",
    "1.0",
    "1e3",
    "1E+3",
    "1e-3",
    "0e0",
    "0.1",
    "0.30000000000000004",
    "1.7976931348623157e308",
    "-1.7976931348623157e308",
    "5e-324",
    "2.2250738585072014e-308",
    "1e-400",
    "9007199254740991",
    "9007199254740993",
    "18446744073709551616",
    "123456789012345678901234567890",
    "3.141592653589793238462643383279",
    `1${"0".repeat(308)}`,
    `0.${"0".repeat(400)}1`,
    `${"9".repeat(300)}.${"9".repeat(300)}e-300`,
  ])("%s comes back as the same number", async (number) => {
    const { status, body } = await send(inMetadata(number));
    expect(status).toBe(201);
    // As JSON has it, zero has no sign.
    const expected = Number(number) + 0;
    expect(body.metadata.v + 0).toBe(expected);
    expect((await stored(body.id)) as object).toEqual({ v: body.metadata.v });
  });

  test.each(["1e309", "-1e309", "1e999999999", `1${"0".repeat(309)}`, `${"9".repeat(400)}`])(
    "%s overflows: 422",
    async (number) => {
      await expectRefused(inMetadata(number), 422, "validation_failed");
      await expectRefused(inMetadata(`[{"a":${number}}]`), 422, "validation_failed");
    },
  );

  test("many of them take no more room in the database than in the request", async () => {
    const numbers = `[${Array(5000).fill("1e308")}]`;
    const { status, body } = await send(inMetadata(numbers));
    // 1e308 is written 1e+308 in compact JSON: 6 bytes, and a comma.
    expect([status, body.code]).toEqual([422, "validation_failed"]);
    expect(body.errors).toMatchObject([{ pointer: "#/metadata", code: "too_large" }]);
    const fits = await send(inMetadata(`[${Array(4600).fill("1e308")}]`));
    expect(fits.status).toBe(201);
    const [row] = await api.database.db
      .client`select octet_length(metadata::text) as size from avatars where id = ${fits.body.id}`;
    expect(row?.["size"]).toBeLessThanOrEqual(32_768);
  });

  test.each(["1.5", "-1", "-0.1", "9007199254740992", "1e16", "1e400", '"5"', "true", "[]", "{}"])(
    "%s is no spend cap",
    async (value) => {
      const { status, body } = await api.call("POST", "/api/v1/api-keys", {
        key,
        body: `{"name":"x","spendLimitCreditMicros":${value}}`,
      });
      expect([status, body.code]).toEqual([422, "validation_failed"]);
    },
  );

  test.each([
    ["0", 0],
    ["-0", 0],
    ["1.0", 1],
    ["1e3", 1000],
    ["9007199254740991", 9007199254740991],
    ["9.007199254740991e15", 9007199254740991],
  ])("%s is a spend cap of %d", async (text, expected) => {
    const { status, body } = await api.call("POST", "/api/v1/api-keys", {
      key,
      body: `{"name":"x","spendLimitCreditMicros":${text}}`,
    });
    expect(status).toBe(201);
    expect(body.spendLimitCreditMicros).toBe(expected);
  });
});

describe("date-times", () => {
  const expiring = (expiresAt: unknown) =>
    api.call("POST", "/api/v1/api-keys", { key, body: { name: "x", expiresAt } });

  test.each([
    ["2096-02-29T12:00:00Z", "2096-02-29T12:00:00.000Z"],
    ["2090-06-30t23:59:60z", "2090-07-01T00:00:00.000Z"],
    ["2090-07-01T01:59:60.5+02:00", "2090-07-01T00:00:00.500Z"],
    ["2090-01-01T00:00:00+23:59", "2089-12-31T00:01:00.000Z"],
    ["2090-01-01T00:00:00-23:59", "2090-01-01T23:59:00.000Z"],
    ["2090-01-01T00:00:00.1Z", "2090-01-01T00:00:00.100Z"],
    ["2090-01-01T00:00:00.99999999999999999999Z", "2090-01-01T00:00:00.999Z"],
    ["9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"],
  ])("%s is %s, in the answer and in the database", async (text, expected) => {
    const { status, body } = await expiring(text);
    expect([status, body.expiresAt]).toEqual([201, expected]);
    const [row] = await api.database.db.client`select expires_at from api_keys where id = ${body.id}`;
    expect(row?.["expires_at"].toISOString()).toBe(expected);
  });

  test.each(
    [
      "",
      "2090-01-01",
      "2090-01-01T00:00:00",
      "2090-02-30T00:00:00Z",
      "2090-02-29T00:00:00Z",
      "2100-02-29T00:00:00Z",
      "2090-13-01T00:00:00Z",
      "2090-00-01T00:00:00Z",
      "2090-01-32T00:00:00Z",
      "2090-01-01T24:00:00Z",
      "2090-01-01T12:60:00Z",
      "2090-06-30T12:00:60Z",
      "2090-06-30T23:59:61Z",
      "2090-06-30T23:59:60+01:00",
      "2090-01-01T00:00:00+24:00",
      "2090-01-01T00:00:00+0100",
      "2090-01-01T00:00:00+01",
      "2090-01-01 00:00:00Z",
      "2090-W01-1T00:00:00Z",
      "2090-001T00:00:00Z",
      "２０９０-01-01T00:00:00Z",
      "2090-01-01T00:00:00.Z",
      "2090-01-01T00:00:00,1Z",
      "9999-12-31T23:59:59.999-00:01",
      "9999-12-31T23:59:60Z",
      "+012090-01-01T00:00:00Z",
      "infinity",
      "now",
      "tomorrow",
      "2090-01-01T00:00:00Z ",
      "1970-01-01T00:00:00Z",
      "0000-01-01T00:00:00Z",
      "2090-01-01T00:00:00Z\u0000",
      2090,
      3786912000,
      true,
      {},
      [],
    ].map((value) => [value]),
  )("%j is 422", async (value) => {
    const { status, body } = await expiring(value);
    expect([status, body.code]).toEqual([422, "validation_failed"]);
    expect(body.errors).toMatchObject([{ pointer: "#/expiresAt" }]);
  });
});
