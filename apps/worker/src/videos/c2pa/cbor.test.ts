import { expect, test } from "bun:test";
import { type CborValue, encodeCbor, Tagged } from "./cbor.ts";

// The examples of RFC 8949, appendix A, whose types this encoder supports.
test.each<[string, CborValue]>([
  ["00", 0],
  ["17", 23],
  ["1818", 24],
  ["18ff", 255],
  ["190100", 256],
  ["1903e8", 1000],
  ["19ffff", 65_535],
  ["1a00010000", 65_536],
  ["1a000f4240", 1_000_000],
  ["1affffffff", 4_294_967_295],
  ["20", -1],
  ["29", -10],
  ["3863", -100],
  ["3903e7", -1000],
  ["f6", null],
  ["c074323031332d30332d32315432303a30343a30305a", new Tagged(0, "2013-03-21T20:04:00Z")],
  ["40", new Uint8Array()],
  ["4401020304", Uint8Array.of(1, 2, 3, 4)],
  ["60", ""],
  ["62c3bc", "\u00fc"],
  ["64f0908591", "\ud800\udd51"],
  ["80", []],
  ["8301820203820405", [1, [2, 3], [4, 5]]],
  ["98190102030405060708090a0b0c0d0e0f101112131415161718181819", Array.from({ length: 25 }, (_, index) => index + 1)],
  ["a0", {}],
  [
    "a201020304",
    new Map([
      [1, 2],
      [3, 4],
    ]),
  ],
  ["a26161016162820203", { a: 1, b: [2, 3] }],
])("%s", (expected, value) => {
  expect(encodeCbor(value).toString("hex")).toBe(expected);
});

test("a map, with keys in any order: sorted by their encoded bytes", () => {
  expect(encodeCbor({ bb: 1, a: 2, b: 3 }).toString("hex")).toBe(encodeCbor({ b: 3, a: 2, bb: 1 }).toString("hex"));
  expect(encodeCbor({ bb: 1, a: 2, b: 3 }).toString("hex")).toBe("a361610261620362626201");
});

test.each([[0.5], [2 ** 32], [-(2 ** 33)], [Number.NaN]])("the number %d: refused", (value) => {
  expect(() => encodeCbor(value)).toThrow(RangeError);
});
