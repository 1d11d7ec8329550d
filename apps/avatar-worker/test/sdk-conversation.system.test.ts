/**
 * The hooks of the published SDK, unchanged, in a conversation. The page runs in a real browser, the service with
 * LiveKit.
 */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { BROWSER, type BrowserContext, type Page, sharedBrowser } from "@realtime-avatar/testing/browser";
import { livekitBinary } from "@realtime-avatar/testing/livekit/binary";
import { REPOSITORY } from "@realtime-avatar/testing/processes";
import { temporaryFolder } from "@realtime-avatar/testing/temporary-folder";
import { until } from "@realtime-avatar/testing/until";
import { realtimeAvatarHono } from "realtime-avatar/hono";
import { type ScriptedProviders, startProviders } from "../src/conversation/providers/providers.testing.ts";
import { type Service, startService } from "./support/service.ts";

setDefaultTimeout(90_000);

/**
 * Shows the state of the hooks. The test controls the person's actions. `#avatar` uses the component, `#avatar/hooks`
 * the hooks.
 */
const PAGE = `
import { useRoomContext } from "@livekit/components-react";
import { createElement, useEffect } from "react";
import { createRoot } from "react-dom/client";
import {
  AvatarCall, AvatarVideoSurface, createProxyClient, RealtimeAvatarLiveKitRoom, SessionLifecycleRoomBridge, useCallTranscript,
  useRealtimeSession,
} from "realtime-avatar/react";
import { attachAvatarTools } from "realtime-avatar/tools";

const Transcript = () => {
  const { user, agent } = useCallTranscript();
  // After the call, the hook returns empty lists.
  if (user.length > 0) window.transcript = { user: user.map(({ text }) => text), agent: agent.map(({ text }) => text) };
  return null;
};
const client = createProxyClient({ proxyUrl: "/rta" });
const [avatarId, form] = location.hash.slice(1).split("/");
const children = (handle) => {
  window.call = handle;
  return createElement("div", null, handle.status, createElement(Transcript));
};
const Component = () => createElement(AvatarCall, { client, avatarId, children });

window.transcript = { user: [], agent: [] };
window.events = [];
const Tools = () => {
  const room = useRoomContext();
  useEffect(() => {
    window.attach = (tools) => attachAvatarTools(room, tools);
  }, [room]);
  return null;
};
const Hooks = () => {
  const session = useRealtimeSession({
    client,
    session: { avatarId },
    // The last line can be sent at any time.
    graceWindowLeadSeconds: 600,
    onEnded: (event) => window.events.push({ ended: event.reason }),
    onGraceWindowClosed: (event) => window.events.push({ isDelivered: event.delivered }),
  });
  window.call = session;
  const { grant, onConnected, onDisconnected, onConnectionError: onError } = session;
  return createElement(
    RealtimeAvatarLiveKitRoom,
    { grant, audio: true, onConnected, onDisconnected, onError },
    createElement(SessionLifecycleRoomBridge, { lifecycle: session }),
    createElement(AvatarVideoSurface, { idleVideoUrl: null, poster: null, fit: "cover" }),
    createElement(Transcript),
    createElement(Tools),
  );
};
createRoot(document.querySelector("main")).render(createElement(form === "hooks" ? Hooks : Component));
`;

const binary = await livekitBinary();
const missing = binary.kind === "missing" ? binary.reason : BROWSER ? null : "there is no browser";

describe.skipIf(missing !== null)(`the SDK in a conversation${missing ? ` (skipped: ${missing})` : ""}`, () => {
  let service: Service;
  let providers: ScriptedProviders;
  let context: BrowserContext;
  let pages: Bun.Server<undefined>;
  let folder = "";

  beforeAll(async () => {
    folder = await temporaryFolder();
    await symlink(join(REPOSITORY, "node_modules"), join(folder, "node_modules"));
    await writeFile(join(folder, "page.ts"), PAGE);
    const define = { "process.env.NODE_ENV": '"production"' };
    const built = await Bun.build({ entrypoints: [join(folder, "page.ts")], define });
    const script = (await built.outputs[0]?.text()) ?? "";
    providers = startProviders({ llmMs: 50, tokenMs: 5, ttsMs: 20 });
    service = await startService(binary.kind === "found" ? binary.path : "", { workerVariables: providers.variables });
    await service.startWorker();
    const route = realtimeAvatarHono({
      apiKey: service.operatorKey,
      baseUrl: `${service.url}/api/v1`,
      session: () => ({ maxSeconds: 120, instructions: "You are a librarian.", clientTools: true }),
      ownsSession: () => true,
    });
    const respond = (raw: Request): Response | Promise<Response> => {
      const { pathname } = new URL(raw.url);
      if (pathname.startsWith("/rta/")) return route({ req: { raw } } as never) as Promise<Response>;
      if (pathname === "/page.js") return new Response(script, { headers: { "content-type": "text/javascript" } });
      const html = '<!doctype html><meta charset="utf-8"><main></main><script type="module" src="/page.js"></script>';
      return new Response(html, { headers: { "content-type": "text/html" } });
    };
    pages = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: respond });
    context = await (await sharedBrowser()).newContext({ permissions: ["microphone"] });
  });
  afterAll(async () => {
    await context?.close();
    await pages?.stop(true);
    await service?.stop();
    await providers?.stop();
    if (folder) await rm(folder, { recursive: true, force: true });
  });

  const untilTrue = (page: Page, expression: string): Promise<unknown> =>
    until(() => page.evaluate(expression), {
      limitMs: 60_000,
      pollMs: 100,
      state: () => page.evaluate("JSON.stringify([window.call, window.transcript, window.events])"),
    });

  test("a turn from the page: answered, and both sides are in useCallTranscript", async () => {
    providers.setAnswer(({ messages }) => (messages.at(-1)?.content === "Who are you?" ? "A librarian." : "Goodbye."));
    const page = await context.newPage();
    await page.goto(`${pages.url.href}#${service.avatarId}`);
    await untilTrue(page, "window.call?.status === 'live' && window.call.secondsRemaining > 0");
    await page.evaluate("window.call.say('Who are you?', { steer: 'Be brief.' })");
    await untilTrue(page, "window.transcript?.agent.at(-1) === 'A librarian.'");
    expect(await page.evaluate("window.transcript")).toEqual({ user: ["Who are you?"], agent: ["A librarian."] });
    const { body } = providers.of("llm").at(-1) ?? {};
    expect(JSON.stringify(body)).toContain("You are a librarian.\\n\\nBe brief.");
    await page.close();
  });

  test("the hooks: transcripts, a tool of the page, a repeated turn, gestures, and the last line of the call", async () => {
    providers.setAnswer(({ messages }) => `You said: ${messages.at(-1)?.content}`);
    const page = await context.newPage();
    await page.goto(`${pages.url.href}#${service.avatarId}/hooks`);
    await untilTrue(page, "window.call?.graceWindow.kind === 'open'");

    await page.evaluate("window.call.createTranscriptSender()('Hello.')");
    await untilTrue(page, "window.transcript.agent.at(-1) === 'You said: Hello.'");

    const tool = `{
      description: "Finds an order.",
      parameters: { type: "object", properties: { id: { type: "number" } } },
      execute: ({ id }) => "Order " + id + " is on its way to " + document.title + ".",
    }`;
    await page.evaluate("document.title = 'Rome'");
    const registered = await page.evaluate(`window.attach({ find_order: ${tool} }).then(({ accepted }) => accepted)`);
    expect(registered).toEqual(["find_order"]);
    providers.setAnswer(({ messages }) => {
      const last = messages.at(-1);
      return last?.role === "tool" ? last.content : { calls: [{ name: "find_order", args: '{"id":7}' }] };
    });
    await page.evaluate("window.call.sendTurn('Where is order 7?')");
    await untilTrue(page, "window.transcript.agent.at(-1) === 'Order 7 is on its way to Rome.'");

    providers.faults.set("llm", 500);
    await page.evaluate("window.call.sendTurn('Are you there?')");
    await untilTrue(page, "window.transcript.agent.length === 3 && window.call.turn === 'listening'");
    providers.faults.clear();
    providers.setAnswer(() => "I am here.");
    await page.evaluate("window.call.retryTurn()");
    await untilTrue(page, "window.transcript.agent.at(-1) === 'I am here.' && window.call.turn === 'listening'");
    expect(await page.evaluate("window.transcript.user")).toEqual(["Hello.", "Where is order 7?", "Are you there?"]);
    const requests = providers.of("llm").length;

    // This avatar has no face.
    expect(await page.evaluate("window.call.performAction('nod')")).toMatchObject({
      accepted: false,
      reason: "no_face",
    });

    expect(await page.evaluate("window.call.sendClosingTurn('Goodbye, Ada.')")).toMatchObject({ ok: true });
    await untilTrue(page, "window.events.length === 2");
    expect(await page.evaluate("window.events")).toEqual([{ isDelivered: true }, { ended: "user_ended" }]);
    expect(providers.of("llm").length).toBe(requests);
    expect(await page.evaluate("window.transcript.agent.at(-1)")).toBe("Goodbye, Ada.");
    await page.close();
  });
});
