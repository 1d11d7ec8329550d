/** Unusual text, numbers and times, over real HTTP into a real database: each case gets 422, or comes back exactly. */
import { describe, expect, test } from "bun:test";
import { startApi } from "../support/api.ts";
import { avatar, hostileCalls, inMetadata } from "../support/hostile.ts";

const api = await startApi();
const key = await api.key();

const { send, stored, expectRefused } = hostileCalls(api, key);

describe("unusual text", () => {
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

  test.each(texts)("unusual text, %s: returned and stored exactly", async (_, text) => {
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
    "invalid text, %s: 422",
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
});

describe("numbers in metadata", () => {
  test.each([
    ..."0 -0 0.0 -0.0 1 -1 1.0 1e3 1E+3 1e-3 0e0 0.1 0.30000000000000004 1.7976931348623157e308".split(" "),
    ..."-1.7976931348623157e308 5e-324 2.2250738585072014e-308 1e-400 9007199254740991 9007199254740993".split(" "),
    ..."18446744073709551616 123456789012345678901234567890 3.141592653589793238462643383279".split(" "),
    ...[`1${"0".repeat(308)}`, `0.${"0".repeat(400)}1`, `${"9".repeat(300)}.${"9".repeat(300)}e-300`],
  ])("a number, %s: returned as the same number", async (number) => {
    const { status, body } = await send(inMetadata(number));
    expect(status).toBe(201);
    // The response has the zero without its sign.
    const expected = Number(number) + 0;
    expect(body.metadata.v + 0).toBe(expected);
    expect((await stored(body.id)) as object).toEqual({ v: body.metadata.v });
  });

  test.each(["1e309", "-1e309", "1e999999999", `1${"0".repeat(309)}`, `${"9".repeat(400)}`])(
    "a number, %s: 422 because it overflows",
    async (number) => {
      await expectRefused(inMetadata(number), 422, "validation_failed");
      await expectRefused(inMetadata(`[{"a":${number}}]`), 422, "validation_failed");
    },
  );

  test("many numbers, in metadata: no larger in the database than allowed", async () => {
    const numbers = `[${Array(5000).fill("1e308")}]`;
    const { status, body } = await send(inMetadata(numbers));
    // Compact JSON writes 1e308 as 1e+308: 6 bytes, and a comma.
    expect([status, body.code]).toEqual([422, "validation_failed"]);
    expect(body.errors).toMatchObject([{ pointer: "#/metadata", code: "too_large" }]);
    const fits = await send(inMetadata(`[${Array(4600).fill("1e308")}]`));
    expect(fits.status).toBe(201);
    const [row] = await api.database.db
      .client`select octet_length(metadata::text) as size from avatars where id = ${fits.body.id}`;
    expect(row?.["size"]).toBeLessThanOrEqual(32_768);
  });
});

describe("date-times", () => {
  const expiring = (expiresAt: unknown) =>
    api.call("POST", "/api/v1/api-keys", { key, body: { name: "x", expiresAt } });

  test.each([
    ["2096-02-29T12:00:00Z", "2096-02-29T12:00:00.000Z"],
    ["2090-06-30t23:59:60z", "2090-07-01T00:00:00.000Z"],
    ["2090-07-01T01:59:60.5+02:00", "2090-07-01T00:00:00.500Z"],
    ["2090-01-01T00:00:00.99999999999999999999Z", "2090-01-01T00:00:00.999Z"],
    ["9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"],
  ])("an expiry, %s: %s in the response and the database", async (text, expected) => {
    const { status, body } = await expiring(text);
    expect([status, body.expiresAt]).toEqual([201, expected]);
    const [row] = await api.database.db.client`select expires_at from api_keys where id = ${body.id}`;
    expect(row?.["expires_at"].toISOString()).toBe(expected);
  });
});
