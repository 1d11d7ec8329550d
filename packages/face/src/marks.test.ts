import { describe, expect, test } from "bun:test";
import { canDraw, textLines, textWidth } from "./letters.ts";
import { createMarks, drawTextPicture, MAX_LABEL_LENGTH, type MarkOptions } from "./marks.ts";
import { PICTURE_LENGTH, PICTURE_SIZE, planesFrom } from "./picture.ts";

const grey = (): Uint8Array => new Uint8Array(PICTURE_LENGTH).fill(128);
const draw = (options: MarkOptions): Uint8Array => {
  const picture = grey();
  createMarks(options)(picture);
  return picture;
};
/** The pixels of luma that differ from the grey, and the box around them. */
const changes = (picture: Uint8Array) => {
  const found = [...planesFrom(picture).y.entries()].filter(([, value]) => value !== 128);
  const columns = found.map(([at]) => at % PICTURE_SIZE);
  const rows = found.map(([at]) => Math.floor(at / PICTURE_SIZE));
  const lumas = found.map(([, value]) => value);
  return {
    count: found.length,
    left: Math.min(...columns),
    right: Math.max(...columns),
    top: Math.min(...rows),
    bottom: Math.max(...rows),
    darkest: Math.min(...lumas),
    lightest: Math.max(...lumas),
  };
};
const NONE: MarkOptions = { label: "", isTest: false };

describe("marks", () => {
  test("no mark: the picture is unchanged, byte for byte", () => {
    expect(draw(NONE)).toEqual(grey());
  });

  test("the label: white on dark, in the upper left corner, legible in a picture of 256 pixels", () => {
    const { left, top, right, bottom, darkest, lightest } = changes(draw({ ...NONE, label: "AI" }));
    expect([left, top]).toEqual([14, 14]);
    expect([right, bottom].every((edge) => edge < 70)).toBe(true);
    expect(bottom - top).toBeGreaterThan(34);
    expect([darkest < 75, lightest > 225]).toEqual([true, true]);
  });

  test("the mark of a test and of a recording: red, at the bottom and at the upper right", () => {
    const isTest = draw({ ...NONE, isTest: true });
    const isRecorded = draw({ ...NONE, isRecorded: true });
    expect([changes(isTest).top > 420, changes(isTest).bottom < PICTURE_SIZE]).toEqual([true, true]);
    expect([changes(isRecorded).left > 380, changes(isRecorded).bottom < 60]).toEqual([true, true]);
    for (const picture of [isTest, isRecorded]) expect(Math.max(...planesFrom(picture).v)).toBeGreaterThan(170);
    expect(Math.max(...planesFrom(draw({ ...NONE, label: "AI" })).v)).toBe(128);
  });

  test("all marks together: each looks as it does alone", () => {
    const all = changes(draw({ label: "AI", isTest: true, isRecorded: true })).count;
    const alone = [{ label: "AI" }, { isTest: true }, { isRecorded: true }].map(
      (mark) => changes(draw({ ...NONE, ...mark })).count,
    );
    expect(all).toBe(alone.reduce((sum, count) => sum + count));
  });

  test("the longest label: inside the picture, without touching the mark of a recording", () => {
    const widest = changes(draw({ ...NONE, label: "M".repeat(MAX_LABEL_LENGTH) })).right;
    expect(widest).toBeLessThan(changes(draw({ ...NONE, isRecorded: true })).left);
  });
});

test("a picture of a text: white letters in the middle of a black picture", () => {
  const { y, u, v } = planesFrom(drawTextPicture("NO RECORDING"));
  const lit = [...y.entries()].filter(([, value]) => value > 200).map(([at]) => at);
  const [columns, rows] = [lit.map((at) => at % PICTURE_SIZE), lit.map((at) => Math.floor(at / PICTURE_SIZE))];
  expect(Math.min(...columns)).toBeGreaterThan(16);
  expect(Math.min(...columns) + Math.max(...columns)).toBeWithin(PICTURE_SIZE - 6, PICTURE_SIZE + 6);
  expect(Math.min(...rows) + Math.max(...rows)).toBeWithin(PICTURE_SIZE - 6, PICTURE_SIZE + 6);
  expect(y[0]).toBe(16);
  expect([...u, ...v].every((value) => value > 125 && value < 131)).toBe(true);
});

describe("letters", () => {
  const ALL = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-. ";

  test("letters and digits: each has its own lines, within its height and width", () => {
    const drawn = [...ALL].map((character) => JSON.stringify(textLines(character, 12)));
    expect(new Set(drawn).size).toBe(ALL.length);
    for (const line of textLines(ALL, 12)) {
      for (const [x, y] of [line.slice(0, 2), line.slice(2)]) {
        expect([(x ?? -1) >= 0 && (x ?? 0) <= textWidth(ALL, 12), (y ?? -1) >= 0 && (y ?? 0) <= 12]).toEqual([
          true,
          true,
        ]);
      }
    }
  });

  test("other characters: cannot be drawn", () => {
    expect([canDraw(ALL), canDraw("Ai"), canDraw("É"), canDraw("A\u0000"), canDraw("toString")]).toEqual([
      ...[true, false, false, false, false],
    ]);
  });
});
