import { afterEach, expect, test } from "bun:test";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { inspect } from "node:util";
import { Secret } from "@realtime-avatar/storage/secret";
import { fixture } from "@realtime-avatar/testing/fixture";
import { SPEECH_ERRORS, SpeechError } from "./errors.ts";
import { speakWithProvider } from "./provider.ts";
import type { SpeechProvider } from "./settings.ts";
import { collectSpeech } from "./speak.ts";

const KEY = "sk-secret-0123456789";
/** Long enough for a busy machine. */
const TIMEOUTS = { waitMs: 30_000, totalMs: 60_000 };
const voice = { providerVoice: "af_heart" };

type Seen = { url: string | undefined; authorization: string | undefined; body: string };
let seen: Seen[] = [];
let respond: (response: ServerResponse, request: IncomingMessage) => void = () => {};
let closed = 0;

/** A server whose responses each test sets. */
const server = createServer((request, response) => {
  let body = "";
  request.on("data", (chunk) => {
    body += chunk;
  });
  request.on("end", () => {
    seen.push({ url: request.url, authorization: request.headers.authorization, body });
    response.on("close", () => {
      if (!response.writableEnded) closed++;
    });
    respond(response, request);
  });
});
await fixture({
  close: () => {
    server.closeAllConnections();
    server.close();
  },
});
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
const { port } = server.address() as AddressInfo;

const provider = (path = "/v1"): SpeechProvider => ({
  url: `http://127.0.0.1:${port}${path}`,
  apiKey: new Secret(KEY),
  model: "kokoro",
  sampleRate: 24_000,
});

afterEach(() => {
  server.closeAllConnections();
  seen = [];
  closed = 0;
});

const say = (options: Parameters<typeof speakWithProvider>[3] = {}): AsyncGenerator<Int16Array> =>
  speakWithProvider(provider(), "Hello.", voice, { timeouts: TIMEOUTS, ...options });

/** The error of a request. Fails when the error contains the key, the port or text of the provider. */
const failure = async (speech = say()): Promise<SpeechError> => {
  const error = await collectSpeech(speech).then(
    () => null,
    (reason: unknown) => reason,
  );
  if (!(error instanceof SpeechError)) throw new Error("no SpeechError", { cause: error });
  const printed = [inspect(error, { depth: 9 }), JSON.stringify(error), String(error.stack)].join();
  for (const text of [KEY, "PROVIDER-TEXT", String(port)]) expect(printed).not.toContain(text);
  return error;
};

const samples = Int16Array.from({ length: 5000 }, (_, index) => ((index * 7919) % 65_536) - 32_768);
const sound = Buffer.from(samples.buffer);

test("a provider that sends sound in chunks that split samples: each sample as sent", async () => {
  respond = (response) => {
    response.writeHead(200, { "content-type": "audio/pcm" });
    let at = 0;
    const next = (): void => {
      const size = [1, 3, 1000, 1, 2][at % 5] ?? 1;
      if (at >= sound.length) return void response.end();
      response.write(sound.subarray(at, at + size));
      at += size;
      setImmediate(next);
    };
    next();
  };
  const parts: Int16Array[] = [];
  for await (const part of say()) parts.push(part);
  expect(parts.length).toBeGreaterThan(1);
  expect(parts.flatMap((part) => [...part])).toEqual([...samples]);
  expect(seen).toEqual([
    {
      url: "/v1/audio/speech",
      authorization: `Bearer ${KEY}`,
      body: JSON.stringify({ model: "kokoro", input: "Hello.", voice: "af_heart", response_format: "pcm" }),
    },
  ]);
});

test("a provider without a key: no authorization is sent", async () => {
  respond = (response) => void response.end(sound);
  await collectSpeech(speakWithProvider({ ...provider(), apiKey: null }, "Hello.", voice));
  expect(seen[0]?.authorization).toBeUndefined();
});

const send =
  (status: number, headers: Record<string, string>, body: string | Buffer) =>
  (response: ServerResponse): void => {
    response.writeHead(status, headers).end(body);
  };
const JSON_ERROR = JSON.stringify({ error: { message: `PROVIDER-TEXT Incorrect API key provided: ${KEY}` } });
const json = { "content-type": "application/json" };

test.each([
  ["400", "voice_refused", send(400, json, JSON_ERROR)],
  ["401", "voice_refused", send(401, json, JSON_ERROR)],
  ["403", "voice_refused", send(403, {}, "PROVIDER-TEXT")],
  ["404", "voice_refused", send(404, json, JSON_ERROR)],
  ["422", "voice_refused", send(422, json, JSON_ERROR)],
  ["408", "voice_timeout", send(408, {}, "")],
  ["429", "voice_busy", send(429, { ...json, "retry-after": "1" }, JSON_ERROR)],
  ["500", "voice_busy", send(500, {}, "PROVIDER-TEXT")],
  ["503", "voice_busy", send(503, {}, "")],
  ["a redirect", "voice_malformed", send(302, { location: "/elsewhere" }, "")],
  ["a permanent redirect", "voice_malformed", send(308, { location: "/elsewhere" }, "")],
  ["a page", "voice_malformed", send(200, { "content-type": "text/html" }, "<!DOCTYPE html>PROVIDER-TEXT")],
  [
    "an HTML page in place of sound",
    "voice_malformed",
    send(200, { "content-type": "audio/pcm" }, "<html>PROVIDER-TEXT</html>"),
  ],
  ["JSON", "voice_malformed", send(200, json, JSON_ERROR)],
  ["JSON as sound", "voice_malformed", send(200, {}, JSON_ERROR)],
  ["MP3", "voice_malformed", send(200, { "content-type": "audio/mpeg" }, sound)],
  ["a WAV file as sound", "voice_malformed", send(200, {}, "RIFF....WAVE")],
  ["nothing", "voice_malformed", send(200, { "content-type": "audio/pcm" }, "")],
  ["204", "voice_malformed", send(204, {}, "")],
  ["206", "voice_malformed", send(206, { "content-type": "audio/pcm" }, sound)],
  ["an odd number of bytes", "voice_malformed", send(200, {}, sound.subarray(1))],
  ["broken compression", "voice_malformed", send(200, { "content-encoding": "gzip" }, sound)],
  [
    "half of its length",
    "voice_malformed",
    (response: ServerResponse) => {
      response.writeHead(200, { "content-length": String(2 * sound.length) });
      response.write(sound, () => response.destroy());
    },
  ],
  [
    "chunks without an end",
    "voice_malformed",
    (response: ServerResponse) => {
      response.writeHead(200, { "content-type": "audio/pcm" });
      response.write(sound, () => response.destroy());
    },
  ],
  ["10 MB", "voice_malformed", send(200, {}, Buffer.alloc(10_000_000, 1))],
  [
    "no response at all",
    "voice_busy",
    (response: ServerResponse): void => {
      response.destroy();
    },
  ],
] as const)("a provider that sends %s: %s", async (_, code, response) => {
  respond = response;
  expect((await failure()).code).toBe(code);
  // No redirect is followed.
  expect(seen.map(({ url }) => url)).toEqual(["/v1/audio/speech"]);
});

test.each([
  ["nothing", (): void => {}],
  [
    "headers alone",
    (response: ServerResponse): void => void response.writeHead(200, { "content-type": "audio/pcm" }).flushHeaders(),
  ],
  [
    "sound that stops",
    (response: ServerResponse): void => void response.writeHead(200, { "content-type": "audio/pcm" }).write(sound),
  ],
])("a provider that sends %s, without an end: voice_timeout", async (_, response) => {
  respond = response;
  // The limit of the whole response is longer than a test may take, so that it cannot end the wait for the next byte.
  expect((await failure(say({ timeouts: { waitMs: 400, totalMs: 600_000 } }))).code).toBe("voice_timeout");
});

test("a provider that sends slowly and without an end: voice_timeout at the limit for the whole response", async () => {
  respond = (response) => {
    const timer = setInterval(() => response.write(sound.subarray(0, 100)), 20);
    response.on("close", () => clearInterval(timer));
  };
  expect((await failure(say({ timeouts: { waitMs: 30_000, totalMs: 300 } }))).code).toBe("voice_timeout");
});

test("a provider that cannot be reached: voice_busy", async () => {
  const nowhere = { ...provider(), url: "http://127.0.0.1:1/v1" };
  expect((await failure(speakWithProvider(nowhere, "Hello.", voice))).code).toBe("voice_busy");
});

test("a request that is aborted, before and while sound arrives: rejects with its reason and closes the connection", async () => {
  const reason = new Error("the call has ended");
  respond = (response) => void response.write(sound);
  const controller = new AbortController();
  const speech = say({ signal: controller.signal });
  await speech.next();
  controller.abort(reason);
  expect(speech.next()).rejects.toBe(reason);
  await speech.next().catch(() => {});
  while (closed < 1) await Bun.sleep(5);
  expect(collectSpeech(say({ signal: AbortSignal.abort(reason) }))).rejects.toBe(reason);
});

test("a caller that stops iterating: the connection is closed", async () => {
  respond = (response) => void response.write(sound);
  for await (const _ of say()) break;
  while (closed < 1) await Bun.sleep(5);
  expect(closed).toBe(1);
});

test("a slow caller: the provider does not count as late", async () => {
  respond = (response) => {
    response.write(sound.subarray(0, 5000), () => response.end(sound.subarray(5000)));
  };
  let length = 0;
  for await (const part of say({ timeouts: { waitMs: 1500, totalMs: 60_000 } })) {
    if (length === 0) await Bun.sleep(1800);
    length += part.length;
  }
  expect(length).toBe(samples.length);
});

test("the error codes: all except voice_refused can be retried", () => {
  const repeatable = Object.entries(SPEECH_ERRORS).filter(([, { isRepeatable }]) => isRepeatable);
  expect(repeatable.map(([code]) => code).sort()).toEqual(["voice_busy", "voice_malformed", "voice_timeout"]);
});
