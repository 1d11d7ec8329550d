import { describe, expect, test } from "bun:test";
import {
  type AvatarTool,
  attachAvatarTools,
  MAX_MANIFEST_BYTES,
  MAX_TOOLS as SDK_MAX_TOOLS,
} from "realtime-avatar/tools";
import { createPageTools, MAX_TOOLS, readManifest, readResult } from "./page-tools.ts";

const manifest = (...tools: unknown[]) => JSON.stringify({ tools });
const tool = (others: object = {}) => ({ name: "order", description: "Finds an order.", parameters: {}, ...others });
const reject = (others: object) => readManifest(manifest(tool(others)))?.rejected;

/** The manifest that the published SDK sends, and the error that it throws for these tools. */
const manifestOfSdk = async (tools: Record<string, AvatarTool>): Promise<string> => {
  let sent = "";
  const accepted = { accepted: Object.keys(tools), rejected: [] };
  const localParticipant = {
    registerRpcMethod: () => {},
    performRpc: async ({ payload }: { payload: string }) => {
      sent = payload;
      return JSON.stringify(accepted);
    },
  };
  await attachAvatarTools(
    { localParticipant, remoteParticipants: new Map([["avatar", { identity: "avatar" }]]) },
    tools,
  );
  return sent;
};

describe("the tools that a page registers", () => {
  test("the largest manifest of the published SDK: taken", async () => {
    const execute = (): string => "";
    const one = { description: "Finds an order.", parameters: { type: "object" }, execute };
    const names = Array.from({ length: SDK_MAX_TOOLS }, (_, index) => `tool-${index}`);
    const sent = await manifestOfSdk(Object.fromEntries(names.map((name) => [name, one])));
    expect(readManifest(sent)?.tools.map(({ name }) => name)).toEqual(names);
    expect(MAX_TOOLS).toBe(SDK_MAX_TOOLS);
    const longest = { ...one, description: "ü".repeat(1000), parameters: { type: "object", title: "" } };
    const length = MAX_MANIFEST_BYTES - (await manifestOfSdk({ long: longest })).length;
    const full = await manifestOfSdk({
      long: { ...longest, parameters: { type: "object", title: "x".repeat(length) } },
    });
    expect(full.length).toBe(MAX_MANIFEST_BYTES);
    expect(readManifest(full)?.tools.length).toBe(1);
  });

  test("a schema: $schema is removed, and a missing type added", () => {
    const [read] =
      readManifest(manifest(tool({ parameters: { $schema: "https://json-schema.org/…", required: ["id"] } })))?.tools ??
      [];
    expect(read?.parameters).toEqual({ type: "object", properties: {}, required: ["id"] });
    expect(readManifest(manifest({ name: "now", description: "Tells the time." }))?.tools[0]?.parameters).toEqual({
      type: "object",
      properties: {},
    });
  });

  test("an invalid tool among others: rejected with a reason; the others are taken", () => {
    let deep: object = {};
    for (let level = 0; level < 500; level++) deep = { properties: deep };
    const bad: [object, RegExp][] = [
      [{ name: "two words" }, /name must match/],
      [{ name: "" }, /name must match/],
      [{ name: "n".repeat(65) }, /name must match/],
      [{ name: 7 }, /name must match/],
      [{ name: { toString: 1 } }, /name must match/],
      [{ description: " " }, /description is required/],
      [{ description: { text: "x" } }, /description is required/],
      [{ description: "x".repeat(1025) }, /description has more than 1024/],
      [{ parameters: [] }, /must be a JSON Schema/],
      [{ parameters: "object" }, /must be a JSON Schema/],
      [{ parameters: { type: "string" } }, /JSON Schema of an object/],
      [{ parameters: deep }, /nested more than 16/],
    ];
    for (const [others, reason] of bad)
      expect(reject(others)).toEqual([{ name: expect.any(String), reason: expect.stringMatching(reason) }]);
    const read = readManifest(manifest(tool(), null, "x", tool(), tool({ name: "other" })));
    expect(read?.tools.map(({ name }) => name)).toEqual(["order", "other"]);
    expect(read?.rejected.map(({ reason }) => reason)).toContain("another tool has this name");
  });

  test("the name of a rejected tool: cut between two characters", () => {
    const [rejected] = readManifest(manifest(tool({ name: `a${"😀".repeat(40)}` })))?.rejected ?? [];
    expect([rejected?.name.length, rejected?.name.isWellFormed()]).toEqual([64, true]);
  });

  test("a malformed manifest, or one above a limit of the SDK: refused as a whole", () => {
    const many = Array.from({ length: 33 }, (_, index) => tool({ name: `tool_${index}` }));
    const broken = [
      "",
      "{",
      "null",
      "[]",
      "{}",
      '{"tools":{}}',
      manifest(...many),
      `${manifest(tool())}${" ".repeat(12_000)}`,
    ];
    for (const payload of broken) expect(readManifest(payload)).toBeNull();
  });
});

test("the response of a page: its result; an error for the model if it is for another call, failed, malformed or too long", () => {
  const respond = (response: object): string =>
    readResult(JSON.stringify({ ok: true, call_id: "c1", ...response }), "c1");
  expect(respond({ result: '{"status":"sent"}' })).toBe('{"status":"sent"}');
  expect(respond({ result: "r".repeat(8192) }).length).toBe(8192);
  expect(respond({ result: "\ud800" })).toBe("\ufffd");
  expect(respond({ ok: false, error: "no order 7" })).toBe('{"error":"no order 7"}');
  const errors = [
    respond({ result: "r".repeat(8193) }),
    respond({ ok: false, error: "e".repeat(9000) }),
    respond({ ok: "true", result: "x" }),
    respond({ result: { status: "sent" } }),
    respond({ result: "x", call_id: "c2" }),
    ...["", "null", "[", "{}"].map((payload) => readResult(payload, "c1")),
    readResult(`{"ok":true,"call_id":"c1","result":"${" ".repeat(70_000)}"}`, "c1"),
  ];
  for (const error of errors) {
    expect(JSON.parse(error)).toEqual({ error: expect.any(String) });
    expect(error.length).toBeLessThan(600);
  }
});

describe("a room", () => {
  type Register = (request: { callerIdentity: string; payload: string }) => Promise<string>;
  const join = (performRpc: (request: { payload: string }) => Promise<string>) => {
    let register: Register = async () => "";
    const registerRpcMethod = (_method: string, handler: Register): void => {
      register = handler;
    };
    const tools = createPageTools({ localParticipant: { registerRpcMethod, performRpc } } as never);
    return { tools, register: (payload: string, callerIdentity = "person") => register({ callerIdentity, payload }) };
  };
  const CALL = { id: "c1", name: "order", args: "{}" };

  test("several registrations: the last valid one of the person counts", async () => {
    const { tools, register } = join(async () => "");
    await expect(register(manifest(tool()), "other")).rejects.toMatchObject({ code: 1400 });
    expect(tools.list()).toEqual([]);
    expect(JSON.parse(await register(manifest(tool(), tool({ name: "two words" }))))).toEqual({
      accepted: ["order"],
      rejected: [{ name: "two words", reason: expect.any(String) }],
    });
    await expect(register("{")).rejects.toMatchObject({ code: 422 });
    expect(tools.list().map(({ name }) => name)).toEqual(["order"]);
    await register(manifest(tool({ name: "weather" })));
    expect(tools.list().map(({ name }) => name)).toEqual(["weather"]);
    tools.drop();
    expect(tools.list()).toEqual([]);
  });

  test("a call that is aborted while the page runs it: rejects at once", async () => {
    const { tools, register } = join(() => new Promise(() => {}));
    await register(manifest(tool()));
    const stop = new AbortController();
    const calling = tools.call(CALL, stop.signal);
    stop.abort();
    await expect(calling).rejects.toThrow("aborted");
    await expect(tools.call(CALL, stop.signal)).rejects.toThrow("aborted");
  });

  test("a page that has left, or that answers another call: an error for the model", async () => {
    const { signal } = new AbortController();
    const gone = join(async () => {
      throw new Error("the recipient is not there");
    });
    await gone.register(manifest(tool()));
    expect(JSON.parse(await gone.tools.call(CALL, signal))).toEqual({ error: expect.stringContaining("did not run") });
    const other = join(async () => '{"ok":true,"call_id":"c2","result":"x"}');
    await other.register(manifest(tool()));
    expect(JSON.parse(await other.tools.call(CALL, signal))).toEqual({ error: expect.stringContaining("no valid") });
  });
});
