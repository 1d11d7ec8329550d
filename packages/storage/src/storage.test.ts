/** The bounds of keys, URLs and ranges, each at its edge, and the errors of a disk. */
import { expect, test } from "bun:test";
import { diskError, SourceFailure } from "./disk/files.ts";
import { checkExpiry, checkKey, checkPrefix, checkRange, endOfRange, isKey, StorageError } from "./storage.ts";

const throws = (work: () => unknown): boolean => {
  try {
    work();
    return false;
  } catch {
    return true;
  }
};

test("a key or a prefix of 200 characters: accepted; of 201: refused", () => {
  for (const [length, isRefused] of [
    [200, false],
    [201, true],
  ] as const) {
    const key = "k".repeat(length);
    const refusals = [() => checkKey(key), () => checkPrefix(key)].map(throws);
    expect([length, !isKey(key), ...refusals]).toEqual([length, isRefused, isRefused, isRefused]);
  }
});

test("a signed URL: valid for a second to a week", () => {
  const now = new Date(1_000_000);
  const isRefused = (milliseconds: number) => throws(() => checkExpiry(new Date(now.getTime() + milliseconds), now));
  const week = 7 * 86_400_000;
  expect([999, 1000, week, week + 1, Number.NaN].map(isRefused)).toEqual([true, false, false, true, true]);
});

test("a range: two offsets in order, from the first byte to the last", () => {
  const isRefused = (start: number, end: number) => throws(() => checkRange({ start, end }));
  expect([isRefused(0, 0), isRefused(1, 0), isRefused(-1, 0), isRefused(0, 0.5)]).toEqual([false, true, true, true]);
  expect([endOfRange({ start: 9, end: 9 }, 10), endOfRange({ start: 0, end: 10 }, 10)]).toEqual([9, 9]);
  expect(throws(() => endOfRange({ start: 10, end: 10 }, 10))).toBe(true);
});

test("an error of a full disk: `full`; of another failure: its code without its message; of the source: unchanged", () => {
  const errorOf = (code: string) => diskError(Object.assign(new Error("/secret/path"), { code }));
  for (const code of ["ENOSPC", "EDQUOT", "EFBIG"]) {
    expect(errorOf(code)).toMatchObject({ reason: "full", message: "The disk has no room for the file." });
  }
  expect(errorOf("EIO")).toMatchObject({ reason: "unavailable", message: "The disk failed (EIO)." });
  const [other, own] = [new Error("gone"), new StorageError("size", "x")];
  expect([diskError(new SourceFailure(other)), diskError(own)]).toEqual([other, own]);
});
