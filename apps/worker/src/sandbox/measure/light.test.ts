import { expect, test } from "bun:test";
import { type Colors, toSrgb } from "./light.ts";

/** The pixel for signals from 0 to 1. */
const shown = (colors: Colors, ...signals: number[]): number[] => [
  ...toSrgb(
    Uint16Array.from(signals, (signal) => Math.round(65_535 * signal)),
    colors,
  ),
];

// The values that Chromium 156 shows for these signals of a video with 10 bits.
test.each([
  ["pq", [0.25, 0.5, 0.5625, 0.625, 0.6875, 0.75, 1], [30, 130, 172, 212, 235, 254, 255]],
  ["hlg", [0.25, 0.5, 0.625, 0.75, 0.875, 0.96875], [43, 99, 134, 187, 227, 248]],
] as const)("grey of %s, from dark to the brightest: as in a browser", (transfer, signals, expected) => {
  for (const [at, signal] of signals.entries()) {
    const [red, green, blue] = shown({ transfer, primaries: "bt2020" }, signal, signal, signal);
    expect(Math.abs((green ?? 0) - (expected[at] ?? 0))).toBeLessThanOrEqual(3);
    expect([red, blue]).toEqual([green, green] as number[]);
  }
});

test("a colour of BT.2020 outside of sRGB: the nearest colour of sRGB", () => {
  expect(shown({ transfer: "pq", primaries: "bt2020" }, 0.2, 0.6, 0.2)).toEqual([0, expect.any(Number), 0]);
  expect(shown({ transfer: "sdr", primaries: "p3" }, 0, 1, 0)).toEqual([0, 255, 0]);
});

test("white without HDR, of any primaries: white", () => {
  for (const primaries of ["bt709", "p3", "bt2020"] as const) {
    expect(shown({ transfer: "sdr", primaries }, 1, 1, 1)).toEqual([255, 255, 255]);
  }
});
