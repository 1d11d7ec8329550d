/** The programs and the page of docs/calls.md, unchanged, on the service with LiveKit and with a browser. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { BROWSER, type BrowserContext, LEVEL, LOOK, type Page, sharedBrowser } from "@realtime-avatar/testing/browser";
import { preparedDataDirectory } from "@realtime-avatar/testing/database";
import { livekitBinary } from "@realtime-avatar/testing/livekit/binary";
import { REPOSITORY, type RunningProcess, source, startProcess } from "@realtime-avatar/testing/processes";
import { temporaryFolder } from "@realtime-avatar/testing/temporary-folder";
import { until } from "@realtime-avatar/testing/until";
import { API, call, start, stop } from "../support/process.ts";

setDefaultTimeout(90_000);

/** Number of slots of the avatar worker. */
const SLOTS = 2;

const binary = await livekitBinary();
const missing = binary.kind === "missing" ? binary.reason : BROWSER ? null : "there is no browser";
const skipped = missing === null ? "" : ` (skipped: ${missing})`;
const CLIENT = join(dirname(Bun.resolveSync("livekit-client", import.meta.dir)), "livekit-client.umd.js");

const EXAMPLE = join(REPOSITORY, "examples/page");
const document = await readFile(join(REPOSITORY, "docs/calls.md"), "utf8");
const readme = await readFile(join(REPOSITORY, "README.md"), "utf8");
/** A block of a document, found by the comment before it. */
const blockOf = (name: string, text = document): string =>
  new RegExp(`<!-- ${name} -->\n\`\`\`\\w+\n(.*?)\`\`\``, "s").exec(text)?.[1] ?? "";

/** Serves the Hono route in the way that Hono calls it, and a page with the React part of the SDK. */
const ROUTE_SERVER = `import { route } from "./hono.ts";
const built = await Bun.build({ entrypoints: ["./react.ts"], define: { "process.env.NODE_ENV": '"production"' } });
const script = await built.outputs[0].text();
const page = '<!doctype html><meta charset="utf-8"><title>React</title><main></main><script type="module" src="/react.js"></script>';
const fetch = (raw: Request) => {
  const { pathname } = new URL(raw.url);
  if (pathname.startsWith("/rta/")) return route({ req: { raw } });
  if (pathname === "/react.js") return new Response(script, { headers: { "content-type": "text/javascript" } });
  return new Response(page, { headers: { "content-type": "text/html" } });
};
const server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch });
console.log("serving", server.url.href);
`;

/**
 * Waits for a condition in the page. Does not check it for each frame, because frames already keep the processor busy.
 */
/** Less than the timeout of a test. */
const WAIT_MS = 80_000;
const untilTrue = (page: Page, expression: string): Promise<unknown> =>
  until(() => page.evaluate(expression), {
    limitMs: WAIT_MS,
    pollMs: 100,
    state: () => page.locator("body").allInnerTexts(),
  });

/** Notes the ids of the media streams that a page receives. Those of participants begin with "PA_". */
const NOTE_STREAMS = `
  window.streams = [];
  window.RTCPeerConnection = class extends RTCPeerConnection {
    constructor(...options) {
      super(...options);
      this.addEventListener("track", (event) => window.streams.push(event.streams[0].id));
    }
  };`;

/** Draws a portrait that passes the checks of photos, so that the documents show no real person. */
const drawPhoto = async (context: BrowserContext): Promise<Buffer> => {
  const page = await context.newPage();
  await page.setViewportSize({ width: 800, height: 800 });
  const drawing = await readFile(join(import.meta.dir, "../support/documents/ada.svg"), "utf8");
  await page.setContent(`<body style="margin:0">${drawing}</body>`);
  const photo = await page.screenshot({ type: "jpeg", quality: 92 });
  await page.close();
  return photo;
};

describe.skipIf(missing !== null)(`docs/calls.md${skipped}`, () => {
  let folder = "";
  let service: Awaited<ReturnType<typeof start>>;
  let key = "";
  let context: BrowserContext;
  const programs: RunningProcess[] = [];

  beforeAll(async () => {
    folder = await temporaryFolder();
    await symlink(join(REPOSITORY, "node_modules"), join(folder, "node_modules"));
    context = await (await sharedBrowser()).newContext();
    context.setDefaultTimeout(WAIT_MS);
    await context.addInitScript(NOTE_STREAMS);
    await writeFile(join(folder, "ada.jpg"), await drawPhoto(context));
    await writeFile(join(folder, "call.ts"), blockOf("program: call"));
    await writeFile(join(folder, "call.html"), blockOf("page: call"));
    await writeFile(join(folder, "hono.ts"), blockOf("program: hono"));
    await writeFile(join(folder, "server.ts"), ROUTE_SERVER);
    await writeFile(join(folder, "react.ts"), blockOf("program: react"));
    const readmeProgram = blockOf("program: call", readme).replace(
      '"http://127.0.0.1:3000/api/v1"',
      "process.env.BASE_URL",
    );
    await writeFile(join(folder, "call.mjs"), readmeProgram);
    const DATA_DIR = await preparedDataDirectory(join(folder, "data"));
    const LIVEKIT_SERVER_BIN = binary.kind === "found" ? binary.path : "";
    // Started from its source, because a bundle has no avatar worker beside it. Each call with a picture takes a
    // quarter of a processor.
    service = await start({ DATA_DIR, LIVEKIT_SERVER_BIN, AVATAR_SLOTS: `${SLOTS}` }, source(API));
    const [, first = ""] = await service.waitFor(/export API_KEY=(\S+)/);
    key = first;
    await service.waitFor(/"process":"avatar-worker".*"msg":"started"/);
    const body = await readFile(CLIENT, "utf8");
    await context.route("https://cdn.jsdelivr.net/**", (route) =>
      route.fulfill({ body, contentType: "text/javascript" }),
    );
  });
  afterAll(async () => {
    await context?.close();
    for (const program of programs) program.kill("SIGKILL");
    await Promise.all(programs.map(({ exited }) => exited));
    if (service) await stop(service);
    if (folder) await rm(folder, { recursive: true, force: true });
  });

  const node = Bun.which("node") ?? process.execPath;
  /** Runs a program in a folder. */
  const runIn = (where: string, command: string[], variables: Record<string, string>): RunningProcess => {
    const program = startProcess(["sh", "-c", 'cd "$0" && exec "$@"', where, ...command], {
      BASE_URL: `${service.url}/api/v1`,
      ...variables,
    });
    programs.push(program);
    return program;
  };
  const run = (file: string, variables: Record<string, string>): RunningProcess =>
    runIn(folder, source(file), variables);
  /** Runs the program with a key, and returns the address of its page. */
  const startProgram = async (API_KEY: string) => {
    const program = run("call.ts", { API_KEY, PAGE_PORT: "0" });
    const [, port] = await program.waitFor(/Open http:\/\/localhost:(\d+)/);
    return { program, url: `http://localhost:${port}` };
  };
  /** A ready avatar of the first key. */
  const readyAvatar = async (): Promise<string> => {
    const headers = { authorization: `Bearer ${key}` };
    const response = await fetch(`${service.url}/api/v1/avatars?status=ready`, { headers });
    return ((await response.json()) as { data: { id: string }[] }).data[0]?.id ?? "";
  };
  let serving: Promise<string> | undefined;
  /** The address of the program with the Hono route. It is started once. */
  const routeServer = (): Promise<string> => {
    serving ??= run("server.ts", { API_KEY: key })
      .waitFor(/serving (\S+)/)
      .then(([, url = ""]) => url);
    return serving;
  };
  const post = (url: string, body: object) =>
    fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
  /** Repeats a request for a call until a slot is free. Returns the session. */
  const untilConnected = (request: () => Promise<Response>): Promise<string> =>
    until(
      async () => {
        const response = await request();
        return response.status === 200 && ((await response.json()) as { session_id: string }).session_id;
      },
      { limitMs: WAIT_MS, pollMs: 200 },
    );
  const untilPictureAndSound = async (page: Page): Promise<void> => {
    await untilTrue(page, `${LOOK} > 0`);
    const pictures = new Set<unknown>();
    await until(async () => pictures.add(await page.evaluate(LOOK)).size >= 4, { pollMs: 100 });
    await untilTrue(page, `${LEVEL} > 0.02`);
  };

  test("the page, compared with examples/page: equal, and at most 20 lines", async () => {
    expect(blockOf("page: call").trim().split("\n").length).toBeLessThanOrEqual(20);
    expect(await readFile(join(EXAMPLE, "call.html"), "utf8")).toBe(blockOf("page: call"));
    expect((await readFile(join(EXAMPLE, "server.mjs"), "utf8")).trim().split("\n").length).toBeLessThanOrEqual(36);
  });

  test("the program and the page, from the photo to the bill: the portrait moves, the sound plays in step, the end is shown", async () => {
    const { program, url } = await startProgram(key);
    const page = await context.newPage();
    await page.goto(url);
    await page.click("button");
    await untilPictureAndSound(page);
    // Browsers play only the tracks of one media stream in step.
    const [sound, ...others] = (await page.evaluate('streams.filter((id) => id.startsWith("PA_"))')) as string[];
    expect(others).toEqual([sound as string]);
    await page.reload();
    await untilPictureAndSound(page);
    await page.click("text=Hang up");
    await untilTrue(page, 'document.querySelector("p").textContent === "The call has ended."');
    await program.waitFor(/status: "released"/);
    const [, billed] = await program.waitFor(/billedCreditMicros: (\d+)/);
    expect(Number(billed)).toBeGreaterThanOrEqual(1_000_000);
    await program.waitFor(/reservedCreditMicros: 0/);
    await page.close();
  });

  test("the example of a page, under Node: calls at the click; the portrait moves, also after a reload, and the call ends; a refusal is shown on the page", async () => {
    const serve = async (AVATAR_ID: string): Promise<string> => {
      const program = runIn(EXAMPLE, [node, "server.mjs"], { API_KEY: key, AVATAR_ID, PAGE_PORT: "0" });
      const [, port] = await program.waitFor(/Open http:\/\/localhost:(\d+)/);
      return `http://localhost:${port}`;
    };
    const page = await context.newPage();
    const requests: string[] = [];
    page.on("request", (request) => requests.push(`${request.method()} ${new URL(request.url()).pathname}`));
    await page.goto(await serve(await readyAvatar()), { waitUntil: "networkidle" });
    // The page has loaded its script, and shows its button. It starts the call at the click, not before.
    expect(requests.filter((request) => request.startsWith("POST"))).toEqual([]);
    await page.click("button");
    await untilPictureAndSound(page);
    expect(requests.filter((request) => request.startsWith("POST"))).toEqual(["POST /call"]);
    const session = () => page.evaluate("sessionStorage.call");
    const before = await session();
    await page.reload();
    await untilPictureAndSound(page);
    expect(await session()).toBe(before);
    await page.click("text=Hang up");
    await untilTrue(page, 'document.querySelector("p").textContent === "The call has ended."');
    await page.close();
    const refusing = await context.newPage();
    await refusing.goto(await serve("ava_none"));
    await refusing.click("button");
    await untilTrue(refusing, 'document.querySelector("p").textContent.includes("does not exist")');
    await refusing.close();
  });

  test("the example of a page, with a BASE_URL without its path: exits with an error", async () => {
    const program = runIn(EXAMPLE, [node, "server.mjs"], { BASE_URL: service.url });
    expect(await program.exited).toBe(1);
    expect(program.stderr()).toContain("BASE_URL must end in /api/v1");
  });

  const picture = process.env["CALL_PICTURE"];
  // This further call in the browser runs only with LONG=1, or when CALL_PICTURE asks for its picture.
  const longTest = test.skipIf(process.env["LONG"] !== "1" && !picture);
  longTest("the page, with a test key: a call with TEST in the picture", async () => {
    const { body } = await call(`${service.url}/api/v1/api-keys`, key, {
      name: "test",
      environment: "test",
      scopes: ["*"],
    });
    const { url } = await startProgram(body.apiKey);
    const page = await context.newPage();
    await page.setViewportSize({ width: 560, height: 600 });
    await page.goto(url);
    await page.click("button");
    await untilPictureAndSound(page);
    if (picture) {
      await untilTrue(page, 'document.querySelector("p").textContent === "In a call"');
      await mkdir(dirname(picture), { recursive: true });
      await page.screenshot({ path: picture });
    }
    await page.click("text=Hang up");
    await untilTrue(page, 'document.querySelector("p").textContent === "The call has ended."');
    await page.close();
  });

  test("the five lines of the README, under Node: a grant; the call is ended", async () => {
    const program = runIn(folder, [node, "call.mjs"], { API_KEY: key, AVATAR_ID: await readyAvatar() });
    expect([await program.exited, program.stderr()]).toEqual([0, ""]);
    expect(program.stdout()).toMatch(/status: ["']ready["']/);
    const [id = ""] = /ses_\w+/.exec(program.stdout()) ?? [];
    // Ended by its program, not by the service two minutes later, so that no page shows a failure.
    const { body } = await service.call("GET", `/api/v1/usage/sessions/${id}`, { key });
    expect(body).toMatchObject({ endReason: "released", closedBy: body.apiKeyId, billedCreditMicros: 0 });
  });

  test("the Hono route: a grant for each slot, then the place in the queue; an end frees a slot", async () => {
    const url = await routeServer();
    const connect = () => readyAvatar().then((avatarId) => post(`${url}rta/call`, { avatarId }));
    const sessions: string[] = [];
    // One start for each slot of the worker.
    let answer = await connect();
    for (; answer.status === 200; answer = await connect()) {
      const grant = (await answer.json()) as { session_id: string; max_session_seconds: number };
      expect(grant.max_session_seconds).toBe(300);
      sessions.push(grant.session_id);
    }
    expect(sessions).toHaveLength(SLOTS);
    const place = (await answer.json()) as { queued: boolean; position: number; queue_ticket_id: string };
    expect([answer.status, place]).toEqual([429, expect.objectContaining({ queued: true, position: 1, size: 1 })]);
    const end = (body: object) => post(`${url}rta/end`, body).then(({ status }) => status);
    expect(await end({ queue_ticket_id: place.queue_ticket_id })).toBe(204);
    expect(await end({ session_id: sessions.pop() })).toBe(204);
    sessions.push(await untilConnected(connect));
    for (const session_id of sessions) expect(await end({ session_id, reason: "page_hide" })).toBe(204);
  });

  test("the React part of the SDK, with the Hono route: queued while all slots are taken, live, ended by the person", async () => {
    const url = await routeServer();
    const avatarId = await readyAvatar();
    const others: string[] = [];
    while (others.length < SLOTS) others.push(await untilConnected(() => post(`${url}rta/call`, { avatarId })));
    const page = await context.newPage();
    await page.goto(`${url}#${avatarId}`);
    await page.waitForSelector('button[data-status="waiting"]');
    for (const session_id of others) await post(`${url}rta/end`, { session_id });
    await page.waitForSelector('button[data-status="live"]');
    await untilTrue(page, `document.querySelector("video") && ${LOOK} > 0`);
    await page.click("button");
    await untilTrue(page, 'document.title === "ended: user_ended"');
    await page.close();
  });
});
