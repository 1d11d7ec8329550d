import { expect, test } from "bun:test";
import { createEcho } from "./echo.ts";

test("frames passed to the echo: the same frames in the same order, 0.6 seconds later", () => {
  const said: number[] = [];
  const echo = createEcho(({ pcm }) => said.push(pcm[0] as number));
  const hear = (index: number): void => echo.hear({ pcm: Int16Array.of(index), isLoud: false });
  for (let index = 0; index < 30; index++) hear(index);
  expect(said).toEqual([]);
  for (let index = 30; index < 33; index++) hear(index);
  expect(said).toEqual([0, 1, 2]);
});
