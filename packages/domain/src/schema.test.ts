import { describe, expect, test } from "bun:test";
import { Type } from "@sinclair/typebox";
import { TypeCompiler } from "@sinclair/typebox/compiler";
import { Value } from "@sinclair/typebox/value";
import fc from "fast-check";
import { CreateApiKey } from "./api-keys/schemas.ts";
import { CreateAvatar } from "./avatars/schemas.ts";
import { CreateUsageSession } from "./credits/schemas.ts";
import { CreateInvitation } from "./people/schemas.ts";
import { isValid, validate } from "./schema.ts";
import { codePoint } from "./testing.ts";

const errors = (schema: Parameters<typeof validate>[0], value: unknown): string[] =>
  validate(schema, value).map(({ pointer, code }) => `${pointer} ${code}`);

const key = (fields: object): object => ({ name: "ops", ...fields });
const avatar = (fields: object): object => ({ displayName: "Ada", sourceKind: "image", ...fields });
const nested = (depth: number): unknown => (depth === 0 ? 1 : [nested(depth - 1)]);

test("an unknown field: the error names the known ones", () => {
  const known = Object.keys(CreateInvitation.properties).join(", ");
  expect(validate(CreateInvitation, { email: "ada@example.com", role: "viewer", roles: 1 })).toEqual([
    { pointer: "#/roles", code: "unknown_field", detail: `Is not a known field. Known: ${known}.` },
  ]);
  expect(known).toContain("email, role");
});

describe("an e-mail address", () => {
  const invitation = (email: string) => ({ email, role: "viewer" });
  test("an address of more than 254 characters, as sent or in lower case: refused", () => {
    const [short, long] = ["@example.com", "\u0130".repeat(200)];
    expect(errors(CreateInvitation, invitation("x".repeat(242) + short))).toEqual([]);
    expect(errors(CreateInvitation, invitation("x".repeat(243) + short))).toEqual(["#/email invalid_email"]);
    // In lower case it has 412 characters.
    expect(errors(CreateInvitation, invitation(long + short))).toEqual(["#/email invalid_email"]);
  });
});

describe("CreateApiKey", () => {
  test.each([
    [key({})],
    [key({ name: "x".repeat(120) })],
    [key({ name: "😀".repeat(120) })],
    [key({ name: "\u200b" })],
    [key({ environment: "live" })],
    [key({ scopes: ["*"] })],
    [key({ scopes: Array(16).fill("avatars:read") })],
    [key({ spendLimitCreditMicros: 0 })],
    [key({ spendLimitCreditMicros: 9007199254740991 })],
    [key({ spendLimitCreditMicros: null })],
    [key({ expiresAt: null })],
    [key({ expiresAt: "2030-01-01T00:00:00+01:00" })],
  ])("a new key, %j: accepted", (value) => {
    expect(errors(CreateApiKey, value)).toEqual([]);
  });

  test.each<[unknown, string[]]>([
    [null, ["# wrong_type"]],
    [[], ["# wrong_type"]],
    ["x", ["# wrong_type"]],
    [{}, ["#/name required"]],
    [key({ name: "" }), ["#/name too_short"]],
    [key({ name: "x".repeat(121) }), ["#/name too_long"]],
    [key({ name: "😀".repeat(121) }), ["#/name too_long"]],
    [key({ name: 5 }), ["#/name wrong_type"]],
    [key({ name: null }), ["#/name wrong_type"]],
    [key({ name: "a\0" }), ["#/name invalid_text"]],
    [key({ name: "\udfff" }), ["#/name invalid_text"]],
    [key({ environment: "prod" }), ["#/environment not_allowed"]],
    [key({ environment: "Live" }), ["#/environment not_allowed"]],
    [key({ environment: null }), ["#/environment wrong_type"]],
    [key({ scopes: [] }), ["#/scopes too_few"]],
    [key({ scopes: Array(17).fill("*") }), ["#/scopes too_many"]],
    [key({ scopes: "*" }), ["#/scopes wrong_type"]],
    [key({ scopes: ["*", "avatars", 3] }), ["#/scopes/1 not_allowed", "#/scopes/2 wrong_type"]],
    [key({ scope: ["*"] }), ["#/scope unknown_field"]],
    [key({ spendLimitCreditMicros: -1 }), ["#/spendLimitCreditMicros out_of_range"]],
    [key({ spendLimitCreditMicros: 9007199254740992 }), ["#/spendLimitCreditMicros out_of_range"]],
    [key({ spendLimitCreditMicros: Number.POSITIVE_INFINITY }), ["#/spendLimitCreditMicros out_of_range"]],
    [key({ spendLimitCreditMicros: 0.5 }), ["#/spendLimitCreditMicros wrong_type"]],
    [key({ spendLimitCreditMicros: "5" }), ["#/spendLimitCreditMicros wrong_type"]],
    [key({ expiresAt: "tomorrow" }), ["#/expiresAt invalid_date_time"]],
    [key({ expiresAt: 1893456000 }), ["#/expiresAt wrong_type"]],
    [JSON.parse('{"name":"x","__proto__":{"scopes":["*"]}}'), ["#/__proto__ unknown_field"]],
    [
      JSON.parse('{"name":"x","constructor":1,"toString":2}'),
      ["#/constructor unknown_field", "#/toString unknown_field"],
    ],
    [Object.create({ name: "inherited" }), ["#/name required"]],
  ])("a new key, %j: refused", (value, expected) => {
    expect(errors(CreateApiKey, value)).toEqual(expected);
  });

  test("a new key, six errors: all reported", () => {
    const wrong = { environment: "x", scopes: [1], spendLimitCreditMicros: -1, expiresAt: "x", extra: 1 };
    expect(errors(CreateApiKey, wrong)).toHaveLength(6);
  });

  test("a new key, 5,000 errors: 100 reported", () => {
    const fields = Object.fromEntries(Array.from({ length: 5000 }, (_, index) => [`f${index}`, index]));
    expect(validate(CreateApiKey, key(fields))).toHaveLength(100);
    expect(validate(CreateApiKey, key({ scopes: Array(5000).fill(1) }))).toHaveLength(100);
  });
});

describe("CreateAvatar", () => {
  test.each([
    [avatar({})],
    [avatar({ displayName: "👩‍🚀".repeat(53) })],
    [avatar({ defaultVoiceId: "x".repeat(8) })],
    [avatar({ modelId: "m", sourceAssetId: "a" })],
    [avatar({ settings: {}, metadata: { deep: nested(62) } })],
    [avatar({ metadata: { "": "", "\u2028": [null, true, 1e308, -0] } })],
    [avatar({ metadata: JSON.parse('{"__proto__":{"constructor":1}}') })],
    [avatar({ settings: { x: "y".repeat(32768 - 8) } })],
  ])("a new avatar, %j: accepted", (value) => {
    expect(errors(CreateAvatar, value)).toEqual([]);
  });

  test.each<[unknown, string[]]>([
    [{}, ["#/displayName required", "#/sourceKind required"]],
    [avatar({ displayName: "👩‍🚀".repeat(54) }), ["#/displayName too_long"]],
    [avatar({ sourceKind: "gif" }), ["#/sourceKind not_allowed"]],
    [avatar({ modelId: "" }), ["#/modelId too_short"]],
    [avatar({ modelId: null }), ["#/modelId wrong_type"]],
    [avatar({ sourceAssetId: "x".repeat(161) }), ["#/sourceAssetId too_long"]],
    [avatar({ defaultVoiceId: "x".repeat(7) }), ["#/defaultVoiceId too_short"]],
    [avatar({ defaultVoiceId: "😀".repeat(7) }), ["#/defaultVoiceId too_short"]],
    [avatar({ settings: [] }), ["#/settings wrong_type"]],
    [avatar({ settings: null }), ["#/settings wrong_type"]],
    [avatar({ metadata: { a: { b: ["x", "\ud800"] } } }), ["#/metadata/a/b/1 invalid_text"]],
    [avatar({ metadata: { "a\0": 1 } }), ["#/metadata/a%00 invalid_text"]],
    [avatar({ metadata: { "\ud800": 1 } }), ["#/metadata/%EF%BF%BD invalid_text"]],
    [avatar({ metadata: { a: Number.POSITIVE_INFINITY } }), ["#/metadata/a out_of_range"]],
    [avatar({ settings: { x: "y".repeat(32768 - 7) } }), ["#/settings too_large"]],
    [avatar({ metadata: { x: "é".repeat(16381) } }), ["#/metadata too_large"]],
  ])("a new avatar, %j: refused", (value, expected) => {
    expect(errors(CreateAvatar, value)).toEqual(expected);
  });
});

describe("a pointer", () => {
  test("a pointer, with special characters: escaped for a URI fragment (RFC 6901)", () => {
    expect(errors(CreateApiKey, key({ "a/b~c d%é": 1 }))).toEqual(["#/a~1b~0c%20d%25%C3%A9 unknown_field"]);
  });

  test("a pointer, a long member name: cut after 128 characters", () => {
    const [error] = validate(CreateApiKey, key({ ["😀".repeat(200)]: 1 }));
    expect(decodeURIComponent(error?.pointer ?? "")).toBe(`#/${"😀".repeat(128)}`);
  });

  test("a pointer, very deep: cut, so that 100 errors stay small", () => {
    let metadata: Record<string, unknown> = Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`x${i}`, "\0"]));
    for (let depth = 0; depth < 60; depth++) metadata = { ["😀".repeat(128)]: metadata };
    const found = validate(CreateAvatar, avatar({ metadata }));
    expect(found).toHaveLength(100);
    expect(JSON.stringify(found).length).toBeLessThan(300_000);
    expect(found[0]?.pointer).toStartWith("#/metadata/%F0%9F%98%80");
  });

  test("a pointer, an API key as a member name: masked", () => {
    const secret = "rta_live_0123456789ABCDEF_GHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvw3jxJMV";
    const pointers = errors(CreateAvatar, avatar({ [secret]: 1, metadata: { [secret]: "\ud800" } })).join();
    expect(pointers).toContain("rta_live_0123456789ABCDEF_****");
    expect(pointers).not.toContain("GHIJ");
  });
});

describe("the check of TypeBox itself", () => {
  test("random values, compiled and not: the same result as ours", () => {
    const value = fc.record(
      {
        name: fc.oneof(fc.string({ unit: codePoint, maxLength: 130 }), fc.integer()),
        environment: fc.constantFrom("live", "test", "x", null),
        scopes: fc.array(fc.constantFrom("*", "avatars:read", "x"), { maxLength: 18 }),
        spendLimitCreditMicros: fc.oneof(fc.integer(), fc.double(), fc.constant(null)),
        expiresAt: fc.constantFrom(null, "2030-01-01T00:00:00Z", "2030-02-30T00:00:00Z"),
        extra: fc.constant(1),
      },
      { requiredKeys: [] },
    );
    const compiled = TypeCompiler.Compile(CreateApiKey);
    fc.assert(
      fc.property(value, (candidate) => {
        const expected = isValid(CreateApiKey, candidate);
        expect(Value.Check(CreateApiKey, candidate)).toBe(expected);
        expect(compiled.Check(candidate)).toBe(expected);
      }),
      { seed: 7, numRuns: process.env["LONG"] === "1" ? 2000 : 50 },
    );
  });

  test("a schema without a validator, used: throws", () => {
    expect(() => validate(Type.Object({ a: Type.BigInt() }), { a: 1 })).toThrow(TypeError);
  });
});

describe("Metadata", () => {
  const session = (metadata: unknown): object => ({ maxSessionSeconds: 1, metadata });
  const members = (count: number): object =>
    Object.fromEntries(Array.from({ length: count }, (_, at) => [`n${at}`, ""]));

  test.each([
    [{}],
    [members(16)],
    [{ ["😀".repeat(40)]: "😀".repeat(500) }],
    [JSON.parse('{"__proto__":"x","constructor":"y"}')],
  ])("metadata, %j: accepted", (metadata) => {
    expect(errors(CreateUsageSession, session(metadata))).toEqual([]);
    expect(Value.Check(CreateUsageSession, session(metadata))).toBe(true);
  });

  test.each<[unknown, string[]]>([
    [null, ["#/metadata wrong_type"]],
    [[], ["#/metadata wrong_type"]],
    [members(17), ["#/metadata too_many"]],
    [{ "": "x" }, ["#/metadata/ invalid_name"]],
    [{ ["x".repeat(41)]: "x" }, [`#/metadata/${"x".repeat(41)} invalid_name`]],
    [{ "a\0": "x" }, ["#/metadata/a%00 invalid_text"]],
    [{ a: "x".repeat(501) }, ["#/metadata/a too_long"]],
    [{ a: 1, b: null, c: {} }, ["#/metadata/a wrong_type", "#/metadata/b wrong_type", "#/metadata/c wrong_type"]],
    [{ a: "\udfff" }, ["#/metadata/a invalid_text"]],
    [JSON.parse('{"__proto__":{"a":"b"}}'), ["#/metadata/__proto__ wrong_type"]],
  ])("metadata, %j: refused", (metadata, expected) => {
    expect(errors(CreateUsageSession, session(metadata))).toEqual(expected);
    expect(Value.Check(CreateUsageSession, session(metadata))).toBe(false);
  });
});
