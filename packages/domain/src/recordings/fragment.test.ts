import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { type Fragment, MAX_FRAGMENT_BYTES, readFragment, writeFragment } from "./fragment.ts";

const sample = (length: number, value = length): Uint8Array => new Uint8Array(length).fill(value);

const BOTH: Fragment = {
  sounds: [
    { role: "user", started_at: 1_700_000_000_000, samples: [sample(3), sample(1), sample(200)] },
    { role: "avatar", started_at: 1_700_000_000_007, samples: [sample(9)] },
  ],
  pictures: {
    ...{ started_at: 1_700_000_000_004, times: [0, 40, 81], keys: [0, 2], sequence: "Z0IAHw==", picture: "aM4G4g==" },
    samples: [sample(40), sample(5), sample(41)],
  },
};

/** The bytes of `BOTH` with a changed head. */
const withHead = (change: (head: string) => string): Uint8Array => {
  const bytes = writeFragment(BOTH);
  const length = new DataView(bytes.buffer).getUint32(0);
  const text = new TextEncoder().encode(change(new TextDecoder().decode(bytes.subarray(4, 4 + length))));
  const changed = new Uint8Array(4 + text.length + bytes.length - 4 - length);
  new DataView(changed.buffer).setUint32(0, text.length);
  changed.set(text, 4);
  changed.set(bytes.subarray(4 + length), 4 + text.length);
  return changed;
};

describe("a fragment of a recording", () => {
  test("written and read: the same tracks and samples", () => {
    expect(readFragment(writeFragment(BOTH))).toEqual(BOTH);
    const voice: Fragment = { sounds: BOTH.sounds.slice(1), pictures: null };
    expect(readFragment(writeFragment(voice))).toEqual(voice);
  });

  test("sizes of samples that are not those of the bytes: refused", () => {
    const bytes = writeFragment(BOTH);
    expect(readFragment(bytes.subarray(0, -1))).toBeNull();
    expect(readFragment(Uint8Array.of(...bytes, 0))).toBeNull();
    expect(readFragment(withHead((head) => head.replace("[3,1,200]", "[3,1,201]")))).toBeNull();
    expect(readFragment(withHead((head) => head.replace("[3,1,200]", "[3,0,201]")))).toBeNull();
  });

  test("a head that is longer than the bytes, no JSON, or of another format: refused", () => {
    expect(readFragment(new Uint8Array(0))).toBeNull();
    expect(readFragment(Uint8Array.of(0xff, 0xff, 0xff, 0xff, 0x7b))).toBeNull();
    expect(readFragment(withHead((head) => head.replace("}", "")))).toBeNull();
    expect(readFragment(withHead((head) => head.replace('"format":1', '"format":2')))).toBeNull();
    expect(readFragment(withHead(() => '{"format":1,"sounds":[],"pictures":[]}'))).toBeNull();
  });

  test("pictures whose times do not grow, or that begin without a key picture: refused", () => {
    expect(readFragment(withHead((head) => head.replace("[0,40,81]", "[0,40,40]")))).toBeNull();
    expect(readFragment(withHead((head) => head.replace("[0,40,81]", "[0,40]")))).toBeNull();
    expect(readFragment(withHead((head) => head.replace("[0,2]", "[1,2]")))).toBeNull();
    expect(readFragment(withHead((head) => head.replace("[0,2]", "[0,3]")))).toBeNull();
  });

  test("more bytes than a fragment may have: refused", () => {
    expect(readFragment(new Uint8Array(MAX_FRAGMENT_BYTES + 1))).toBeNull();
  });

  test("any bytes: a fragment or null, never an error", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), fc.nat(400), (noise, at) => {
        readFragment(noise);
        const bytes = writeFragment(BOTH);
        bytes.set(noise.subarray(0, Math.max(0, bytes.length - at)), Math.min(at, bytes.length));
        readFragment(bytes);
      }),
    );
  });
});
