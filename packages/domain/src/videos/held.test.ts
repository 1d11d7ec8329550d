import { expect, test } from "bun:test";
import { heldSeconds } from "./held.ts";

/**
 * Texts with the seconds that the voice `flite-slt` needs for them, and texts in Chinese, Japanese and Korean with the
 * seconds of slow speech.
 */
test.each([
  ["1234567890123456", 4.43],
  ["77777777777777", 5.27],
  ["7 7 7 7 7 7 7 7 7 7", 4.05],
  ["$1,000,000,000,000,000", 6.1],
  ["+1 (555) 867-5309", 4.4],
  ["12/24/2026 17:45", 4.29],
  ["W W W W W W W W", 3.9],
  ["WWWWWWWW", 3.9],
  ["wwwwwwww w w w w", 5.07],
  ["a, b, c, d, e, f", 2.85],
  ["A. A. A. A. A.", 2.54],
  ["IBM FBI CIA USA BBC", 2.92],
  ["&1 &1 &1", 2.98],
  ["5% 6% 7%", 2.88],
  ["1+1=2", 1.86],
  ["a/b/c/d/e", 2.88],
  ["欢迎光临我们的小店今天天气很好", 4.3],
  ["안녕하세요 저희 가게에 오신 것을 환영합니다", 4.4],
])("%s: at least the seconds of its speech", (spoken, seconds) => {
  expect(heldSeconds(spoken)).toBeGreaterThanOrEqual(seconds);
});

test("words: a second for every eight characters, at least one", () => {
  expect(["a", "Hello.", "This is said by the face", "Hello, and welcome to our shop."].map(heldSeconds)).toEqual([
    1, 1, 3, 4,
  ]);
});

test("the longest text: the seconds of the longest video", () => {
  expect(heldSeconds("7".repeat(5000))).toBe(601);
});
