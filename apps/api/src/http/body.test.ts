import { describe, expect, test } from "bun:test";
import { Problem } from "@realtime-avatar/domain/problem";
import { Text } from "@realtime-avatar/domain/schema";
import { Type } from "@sinclair/typebox";
import { readBody } from "./body.ts";
import type { RequestContext } from "./request-context.ts";

const SCHEMA = Type.Object({ name: Text({ minLength: 1, maxLength: 10 }) });
const contextOf = (milliseconds = 5000): RequestContext => {
  const startedAt = performance.now();
  return { requestId: "x", startedAt, deadline: startedAt + milliseconds, isAborted: () => false };
};
const requestOf = (body: Bun.BodyInit, headers: Record<string, string> = {}, path = "") =>
  new Request(`http://localhost/${path}`, {
    method: "POST",
    body,
    headers: { "content-type": "application/json", ...headers },
  });
const codeOf = async (request: Request, context = contextOf()): Promise<string> => {
  try {
    await readBody(request, context, SCHEMA);
    return "valid";
  } catch (error) {
    return error instanceof Problem ? error.code : String(error);
  }
};

test("a valid body, read: returned as sent", async () => {
  expect(await readBody(requestOf('{"name":"Ada"}'), contextOf(), SCHEMA)).toEqual({ name: "Ada" });
});

describe("the order of the checks of a body", () => {
  test.each<[string, Bun.BodyInit, Record<string, string>]>([
    ["valid", '{"name":"Ada"}', { "content-type": "APPLICATION/JSON; charset=UTF-8" }],
    ["unsupported_media_type", "{", { "content-type": "text/plain" }],
    ["unsupported_media_type", "{", { "content-type": "application/json; charset=utf-16" }],
    ["unsupported_media_type", "{", { "content-encoding": "gzip" }],
    ["body_too_large", "{".repeat(128 * 1024 + 1), {}],
    ["malformed_json", "", {}],
    ["malformed_json", new Uint8Array([0x22, 0xff, 0x22]), {}],
    ["malformed_json", '\ufeff{"name":"Ada"}', {}],
    ["malformed_json", `${"[".repeat(65)}${"]".repeat(65)}`, {}],
    ["validation_failed", `${"[".repeat(64)}${"]".repeat(64)}`, {}],
    ["validation_failed", '{"name":5}', {}],
  ])("a body, by its first failed check: %s", async (code, body, headers) => {
    expect(await codeOf(requestOf(body, headers))).toBe(code);
  });

  test("a query parameter and a body, both invalid: one response has both errors", async () => {
    const failure = readBody(requestOf("{}", {}, "?x=1"), contextOf(), SCHEMA).catch((error: Problem) => error);
    expect(((await failure) as Problem).extras.errors).toMatchObject([{ parameter: "x" }, { pointer: "#/name" }]);
  });
});

describe("a body without a declared length", () => {
  const streamOf = (pull: (controller: ReadableStreamDefaultController) => unknown) =>
    new ReadableStream({ pull: async (controller) => void (await pull(controller)) });

  test("an endless body, no declared length: 413 while it arrives", async () => {
    let chunks = 0;
    const endless = streamOf((controller) => {
      chunks++;
      controller.enqueue(new Uint8Array(64 * 1024));
    });
    expect(await codeOf(requestOf(endless))).toBe("body_too_large");
    expect(chunks).toBeLessThan(10);
  });

  test("a late body: 400 at the deadline of the request, which moves by the time spent on the body", async () => {
    const context = contextOf(20);
    const { deadline } = context;
    expect(await codeOf(requestOf(streamOf(() => Bun.sleep(60_000))), context)).toBe("malformed_request");
    expect(context.deadline).toBeGreaterThan(deadline);
  });
});
