import { expect, test } from "bun:test";
import { ASSET_ERROR_CODES } from "@realtime-avatar/domain/assets/errors";
import { ASSET_KINDS } from "@realtime-avatar/domain/assets/limits";
import type { Refused, Unavailable } from "../remote/outcome.ts";
import { importAdvice } from "./import-advice.ts";

const adviceOf = (kind: "refused" | "unavailable", code: string) =>
  ASSET_KINDS.map((asset) => importAdvice({ kind, code, detail: "" } as Refused | Unavailable, asset));

test("a failed import, of each code and kind: a sentence with the advice", () => {
  for (const code of [...ASSET_ERROR_CODES.import, "too_large", "empty"]) {
    const advice = [...adviceOf("refused", code), ...adviceOf("unavailable", code)].filter(
      (text) => text !== undefined,
    );
    expect([code, advice.length >= ASSET_KINDS.length]).toEqual([code, true]);
    for (const text of advice) {
      expect([code, text]).toEqual([
        code,
        expect.stringMatching(/^(Use|Correct|Check|Import|Renew|Let|Scale|Cut) .{10,150}\.$/),
      ]);
    }
  }
  // Too large for its kind: the advice of that kind.
  expect(adviceOf("refused", "too_large").map((text) => /picture|video|recording/.exec(text)?.[0])).toEqual([
    "picture",
    "video",
    "recording",
  ]);
});
