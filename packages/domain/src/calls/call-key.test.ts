import { expect, test } from "bun:test";
import { callSigningKey, newCallKey, readCallKey } from "./call-key.ts";

const secretOf = (text: string) => ({ reveal: () => text });
const key = callSigningKey(secretOf("a secret of the service"));
const call = { tenantId: "ten_01h455vb4pex5vsknk084sn02q", sessionId: "ses_01h455vb4pex5vsknk084sn02q" } as const;
const now = new Date("2026-11-20T12:00:00Z");
const after = (seconds: number): Date => new Date(now.getTime() + seconds * 1000);
const text = newCallKey(call, key, now);

test("a key of a call: valid for two minutes", () => {
  expect(readCallKey(text, key, now)).toEqual(call);
  expect(readCallKey(text, key, after(119))).toEqual(call);
  expect(readCallKey(text, key, after(120))).toBeNull();
});

test("a key of another service, of another call, with another end, changed, or no key: null", () => {
  expect(readCallKey(text, callSigningKey(secretOf("another secret")), now)).toBeNull();
  const others = [
    text.replace("ses_01h455vb4pex5vsknk084sn02q", "ses_01h455vb4pex5vsknk084sn02r"),
    text.replace("ten_01h455vb4pex5vsknk084sn02q", "ten_01h455vb4pex5vsknk084sn02r"),
    text.replace(/_(\d{10})_/, (_, end) => `_${Number(end) + 1}_`),
    ...[`${text}x`, text.slice(0, -1), text.toUpperCase(), "", "rtc_", `${text}\n`, text.replace("rtc_", "rta_")],
    text.slice(0, -43) + "A".repeat(43),
  ];
  for (const other of others) expect(readCallKey(other, key, now)).toBeNull();
});
