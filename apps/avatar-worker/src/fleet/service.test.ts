import { afterAll, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { preparedFile } from "@realtime-avatar/domain/avatars/preparation";
import type { SessionId } from "@realtime-avatar/domain/id";
import { Secret } from "@realtime-avatar/storage/secret";
import { testDatabase } from "@realtime-avatar/testing/database";
import { bun, startProcess } from "@realtime-avatar/testing/processes";
import { unavailableReason } from "../health.ts";
import { createService } from "./service.ts";

let respond: (request: Request) => Response | Promise<Response> = () => new Response();
const requests: string[] = [];
const server = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  fetch: (request) => {
    requests.push(`${request.method} ${new URL(request.url).pathname} ${request.headers.get("authorization")}`);
    return respond(request);
  },
});
afterAll(() => server.stop(true));

// Long limits, so that no response is late on a slow machine.
const service = createService(
  { serviceUrl: server.url.origin, secret: new Secret("s3cret"), workerId: "wrk_1" },
  { syncMs: 60_000, fileMs: 60_000, transcriptMs: 1000, fragmentMs: 1000 },
);
const sync = () => service.sync({ slots: 1, features: [], calls: [] }, AbortSignal.timeout(60_000));
const lease = { lease_seconds: 15, start: [], end: [] };

test("a sync: one request with the secret, and the valid response", async () => {
  respond = () => Response.json(lease);
  expect(await sync()).toEqual({ lease_seconds: 15, start: [], end: [] });
  expect(requests.at(-1)).toBe("POST /internal/avatar-workers/wrk_1/sync Bearer s3cret");
});

test.each([
  ["401", () => new Response(null, { status: 401 }), "401"],
  ["a redirect", () => Response.redirect("http://127.0.0.1:1/"), ""],
  ["no JSON", () => new Response("<html>"), ""],
  ["another shape", () => Response.json({ ...lease, lease_seconds: 0 }), "invalid response"],
])("a sync answered by %s: an error without the secret", async (_, response, message) => {
  respond = response;
  const failure = await sync().then(
    () => null,
    (error: Error) => error.message,
  );
  expect(failure).toContain(message);
  expect(failure).not.toContain("s3cret");
});

test("a response with unknown fields: read without them", async () => {
  respond = () =>
    Response.json({ ...lease, end: [{ session_id: "ses_1", generation: 1, reason: null, later: 1 }], later: 1 });
  expect(await sync()).toEqual({ ...lease, end: [{ session_id: "ses_1" as SessionId, generation: 1, reason: null }] });
});

const problem = (status: number, body: string) => () =>
  new Response(body, { status, headers: { "content-type": "application/problem+json" } });
test.each([
  ["has no LiveKit", problem(501, '{"code":"realtime_not_configured"}'), "service_without_livekit"],
  ["has another secret", problem(401, '{"code":"invalid_credentials"}'), "service_refuses_secret"],
  ["refuses the request", problem(422, '{"code":"validation_failed"}'), "service_refuses"],
  ["has no database", problem(503, '{"code":"unavailable"}'), "service_unreachable"],
  ["is a proxy without a service behind it", problem(502, "<html>"), "service_unreachable"],
  ["is another program", problem(404, " ".repeat(20_000)), "service_refuses"],
  ["sends no JSON", () => new Response("<html>"), "service_unreachable"],
] as const)("a service that %s: the reason in the health of the worker", async (_, response, reason) => {
  respond = response;
  expect(unavailableReason(await sync().catch((error: unknown) => error))).toBe(reason);
});

test("an API without LiveKit: the reason in the log and in the health", async () => {
  const { variables, close } = await testDatabase({ isServed: true });
  const secret = "s".repeat(32);
  const api = startProcess(bun("apps/api/src/main.ts"), { ...variables, PORT: "0", AVATAR_WORKER_SECRET: secret });
  const [, serviceUrl = ""] = await api.waitFor(/"url":"(http:[^"]+)"/);
  const worker = createService({ serviceUrl, secret: new Secret(secret), workerId: "wrk_1" });
  const failure = await worker
    .sync({ slots: 1, features: [], calls: [] }, AbortSignal.timeout(10_000))
    .catch((error: Error) => error);
  expect(unavailableReason(failure)).toBe("service_without_livekit");
  expect((failure as Error).message).toBe(
    "the service responded with 501: it has no LiveKit server, or no AVATAR_WORKER_SECRET",
  );
  api.kill("SIGTERM");
  expect(await api.exited).toBe(0);
  await close();
});

/** Sends endlessly, and counts the mebibytes. */
const endless = () => {
  const sent = { mebibytes: 0, isCancelled: Promise.withResolvers<void>() };
  const stream = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      sent.mebibytes++;
      controller.enqueue(new Uint8Array(2 ** 20).fill(0x20));
    },
    cancel: () => sent.isCancelled.resolve(),
  });
  return { sent, response: () => new Response(stream) };
};

test.each([
  ["a file", 32],
  ["a response", 128],
])("an endless %s: refused at its limit of %i MiB, and no longer read", async (what, mebibytes) => {
  const { sent, response } = endless();
  respond = response;
  const name = preparedFile(1, "0".repeat(64), "webp");
  const read = what === "a file" ? service.file("ses_1", name) : sync();
  expect(
    await read.then(
      () => null,
      (error: Error) => error.message,
    ),
  ).toContain("too large");
  await sent.isCancelled.promise;
  // Some bytes are still in transit.
  expect(sent.mebibytes).toBeWithin(mebibytes, mebibytes + 24);
});

test("a file with the digest of its name: read", async () => {
  const bytes = Buffer.from("picture");
  const file = preparedFile(1, createHash("sha256").update(bytes).digest("hex"), "webp");
  respond = () => new Response(bytes);
  expect(Buffer.from(await service.file("ses_1", file)).toString()).toBe("picture");
  expect(requests.at(-1)).toBe(`GET /internal/avatar-workers/wrk_1/calls/ses_1/files/${file} Bearer s3cret`);
  respond = () => new Response("other");
  await expect(service.file("ses_1", file)).rejects.toThrow("digest");
});

test.each(["../../../secrets", "1/abc-webp", ""])("a file with the name %j: not requested", async (file) => {
  const before = requests.length;
  await expect(service.file("ses_1", file)).rejects.toThrow("invalid");
  expect(requests.length).toBe(before);
});

test("a redirect to a valid response: not followed", async () => {
  const before = requests.length;
  respond = ({ url }) =>
    url.endsWith("/other") ? Response.json(lease) : Response.redirect(`${server.url.origin}/other`);
  expect(await sync().catch(() => "refused")).toBe("refused");
  const file = preparedFile(1, "0".repeat(64), "webp");
  expect(await service.file("ses_1", file).catch(() => "refused")).toBe("refused");
  expect(requests.slice(before).filter((request) => request.includes("/other"))).toEqual([]);
});

test("a fragment of a recording: one request with the secret and its bytes; a refusal is an error with its code", async () => {
  const bodies: number[][] = [];
  respond = async (request) => {
    bodies.push([...new Uint8Array(await request.arrayBuffer())]);
    return new Response(null, { status: 204 });
  };
  await service.fragment("ses_1", { generation: 2, n: 7 }, Uint8Array.of(1, 2, 3));
  expect(requests.at(-1)).toBe("PUT /internal/avatar-workers/wrk_1/calls/ses_1/recording/2/7 Bearer s3cret");
  expect(bodies).toEqual([[1, 2, 3]]);
  respond = () => Response.json({ code: "recording_is_full" }, { status: 409 });
  const refused = service.fragment("ses_1", { generation: 2, n: 8 }, Uint8Array.of(1));
  await expect(refused).rejects.toMatchObject({ status: 409, code: "recording_is_full" });
});

test("a service that does not respond: an error after the limit of a sync or of a file, or when the sync is aborted", async () => {
  const hurried = createService(
    { serviceUrl: server.url.origin, secret: new Secret("s3cret"), workerId: "wrk_1" },
    { syncMs: 30, fileMs: 30, transcriptMs: 1000, fragmentMs: 1000 },
  );
  const silent = () => new Response(new ReadableStream({ pull: () => new Promise(() => {}) }));
  respond = silent;
  const request = { slots: 1, features: [], calls: [] };
  const nameOf = (work: Promise<unknown>) => work.catch(({ name }: Error) => name);
  expect(await nameOf(hurried.sync(request, new AbortController().signal))).toBe("TimeoutError");
  expect(await nameOf(hurried.file("ses_1", preparedFile(1, "0".repeat(64), "webp")))).toBe("TimeoutError");
  expect(await nameOf(service.sync(request, AbortSignal.timeout(30)))).toBe("TimeoutError");
});
