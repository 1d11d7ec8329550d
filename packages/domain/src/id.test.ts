import { describe, expect, test } from "bun:test";
import { countingBytes, seededBytes } from "@realtime-avatar/testing/random-bytes";
import fc from "fast-check";
import { firstIdAt, isId, newId, newRequestId, timeOfId, typeId } from "./id.ts";

const uuid = (text: string): Uint8Array => Buffer.from(text.replaceAll("-", ""), "hex");

// The vectors of the TypeID specification, 0.3 (valid.json).
test.each([
  ["00000000-0000-0000-0000-000000000000", "00000000000000000000000000"],
  ["00000000-0000-0000-0000-000000000001", "00000000000000000000000001"],
  ["00000000-0000-0000-0000-00000000000a", "0000000000000000000000000a"],
  ["00000000-0000-0000-0000-000000000010", "0000000000000000000000000g"],
  ["00000000-0000-0000-0000-000000000020", "00000000000000000000000010"],
  ["ffffffff-ffff-ffff-ffff-ffffffffffff", "7zzzzzzzzzzzzzzzzzzzzzzzzz"],
  ["0110c853-1d09-52d8-d73e-1194e95b5f19", "0123456789abcdefghjkmnpqrs"],
  ["01890a5d-ac96-774b-bcce-b302099a8057", "01h455vb4pex5vsknk084sn02q"],
])("a type id, of %s: %s", (bytes, suffix) => {
  expect(typeId("key", uuid(bytes))).toBe(`key_${suffix}`);
});

describe("newId", () => {
  test("an id, of fixed time and bytes: a UUIDv7 with 48 bits of milliseconds", () => {
    const id = newId("key", new Date("2026-11-20T12:00:00.000Z"), countingBytes());
    expect(id).toBe("key_01m7wd7tg0e00r40r40m30e209");
    // 2026-11-20T12:00:00Z is 0x019f1cd3ea00 milliseconds after 1970.
    const expected = uuid(`${Date.UTC(2026, 10, 20, 12).toString(16).padStart(12, "0")}-7001-8203-040506070809`);
    expect(id).toBe(typeId("key", expected));
  });

  test("ids, of random times: sorted by time bytewise, well-formed", () => {
    const random = seededBytes("ids");
    const time = fc.integer({ min: 0, max: 2 ** 48 - 1 });
    fc.assert(
      fc.property(time, time, (one, other) => {
        const [first, second] = [newId("ava", new Date(one), random), newId("ava", new Date(other), random)];
        expect(isId("ava", first)).toBe(true);
        expect(first < second).toBe(one <= other);
      }),
      { seed: 1 },
    );
  });

  test("ids, within a millisecond: sorted in creation order", () => {
    // The third source starts with values that carry into the next part at each step.
    let isFirst = true;
    const carrying = (count: number): Uint8Array => {
      const bytes = new Uint8Array(count).fill(0xff);
      if (isFirst) bytes[0] = 0;
      isFirst = false;
      return bytes;
    };
    for (const random of [seededBytes("many"), (count: number) => new Uint8Array(count), carrying]) {
      const now = new Date("2026-11-20T12:00:00.000Z");
      const ids = Array.from({ length: 5000 }, () => newId("ava", now, random));
      expect(ids).toEqual([...ids].sort());
      expect(new Set(ids).size).toBe(ids.length);
      for (const id of ids) expect(isId("ava", id)).toBe(true);
    }
  });
});

describe("newRequestId", () => {
  test("a request id, of fixed time and bytes: a UUIDv7 in its usual form", () => {
    const now = new Date("2026-11-20T12:00:00.000Z");
    const time = now.getTime().toString(16).padStart(12, "0");
    const expected = `${time.slice(0, 8)}-${time.slice(8)}-7001-8203-040506070809`;
    expect(newRequestId(now, countingBytes())).toBe(expected);
  });

  test("request ids, beside other ids: sorted together", () => {
    const random = seededBytes("requests");
    const now = new Date("2026-11-20T12:00:00.000Z");
    const pairs = Array.from({ length: 2500 }, () => [newRequestId(now, random), newId("ava", now, random)] as const);
    const ids = pairs.flatMap(([requestId, id]) => [typeId("ava", uuid(requestId)), id]);
    expect(ids).toEqual([...ids].sort());
    expect(new Set(ids).size).toBe(ids.length);
    for (const [requestId] of pairs) {
      expect(requestId).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    }
  });
});

describe("isId", () => {
  const id = "key_01h455vb4pex5vsknk084sn02q";

  test("an id, with its prefix: accepted; with another prefix: refused", () => {
    expect(isId("key", id)).toBe(true);
    expect(isId("ava", id)).toBe(false);
  });

  test.each([
    "",
    "key_",
    "01h455vb4pex5vsknk084sn02q",
    id.toUpperCase(),
    `${id}0`,
    id.slice(0, -1),
    ` ${id}`,
    `${id}\n`,
    "key_81h455vb4pex5vsknk084sn02q",
    "key_01h455vb4pex5vsknk084sn02i",
    "key_01h455vb4pex5vsknk084sn02u",
    "key__1h455vb4pex5vsknk084sn02q",
  ])("an id, %j: refused", (text) => {
    expect(isId("key", text)).toBe(false);
  });
});

test("timeOfId, of any moment: that moment", () => {
  const random = seededBytes("time");
  fc.assert(
    fc.property(fc.date({ min: new Date(0), max: new Date("9999-12-31"), noInvalidDate: true }), (time) => {
      expect(timeOfId(newId("ses", time, random))).toBe(time.getTime());
    }),
  );
});

test("the first id, of a moment: at or below each id of this moment or later, above each earlier id", () => {
  const random = seededBytes("first");
  const times = fc.date({ min: new Date(0), max: new Date("2500-01-01"), noInvalidDate: true });
  fc.assert(
    fc.property(times, times, (a, b) => {
      expect(newId("ses", a, random) >= firstIdAt("ses", b)).toBe(a.getTime() >= b.getTime());
    }),
  );
  const at = new Date("2026-11-20T12:00:00.000Z");
  const before = new Date(at.getTime() - 1);
  expect(newId("ses", before, () => new Uint8Array(10).fill(255)) < firstIdAt("ses", at)).toBe(true);
  expect(newId("ses", at, () => new Uint8Array(10)) >= firstIdAt("ses", at)).toBe(true);
  expect(firstIdAt("ses", new Date("0001-01-01T00:00:00Z"))).toBe(firstIdAt("ses", new Date(0)));
  expect(isId("ses", firstIdAt("ses", at))).toBe(true);
});
