import { afterAll, expect, test } from "bun:test";
import { Secret } from "@realtime-avatar/storage/secret";
import { checkProviders } from "./check.ts";

const seen: { path: string; key: string | null }[] = [];
let respond = (): Response | Promise<Response> => new Response();
const server = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  fetch: (request) => {
    seen.push({ path: new URL(request.url).pathname, key: request.headers.get("authorization") });
    return respond();
  },
});
const url = `${server.url.origin}/v1`;
afterAll(() => server.stop(true));

test("each provider: gets a request for its models, with its own key", async () => {
  const keys = { llm: new Secret("one"), stt: new Secret("two"), tts: null };
  const endpoints = { llm: { url, apiKey: keys.llm }, stt: { url, apiKey: keys.stt }, tts: { url, apiKey: keys.tts } };
  expect(await checkProviders(endpoints)).toEqual({ llm: "ok", stt: "ok", tts: "ok" });
  expect(seen.map(({ path }) => path)).toEqual(["/v1/models", "/v1/models", "/v1/models"]);
  expect(new Set(seen.map(({ key }) => key))).toEqual(new Set(["Bearer one", "Bearer two", null]));
  expect(await checkProviders({})).toEqual({});
});

test.each([
  [200, "ok"],
  [404, "ok"],
  [405, "ok"],
  [401, "refused"],
  [403, "refused"],
  [400, "refused"],
  [429, "busy"],
  [500, "busy"],
  [503, "busy"],
  [504, "timeout"],
] as const)("a provider that responds with %p: %s", async (status, health) => {
  respond = () => new Response("sk-secret", { status });
  expect(await checkProviders({ llm: { url, apiKey: null } })).toEqual({ llm: health });
});

test("a redirect: refused, and not followed", async () => {
  seen.splice(0);
  respond = () => Response.redirect(`${server.url.origin}/stolen`, 302);
  expect(await checkProviders({ llm: { url, apiKey: new Secret("one") } })).toEqual({ llm: "refused" });
  expect(seen.length).toBe(1);
});

test("a provider that hangs: timeout; that sends endlessly: ok; that does not run: unreachable", async () => {
  respond = () => new Promise<Response>(() => {});
  expect(await checkProviders({ llm: { url, apiKey: null } }, 100)).toEqual({ llm: "timeout" });
  respond = () =>
    new Response(new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(65_536)) }));
  expect(await checkProviders({ llm: { url, apiKey: null } })).toEqual({ llm: "ok" });
  expect(await checkProviders({ llm: { url: "http://127.0.0.1:1/v1", apiKey: null } })).toEqual({ llm: "unreachable" });
});
