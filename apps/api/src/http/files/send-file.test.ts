/** Sending files to clients: the places that they take, and when a client loses its place. */
import { afterEach, expect, setDefaultTimeout, test } from "bun:test";
import { connect, type Socket } from "node:net";
import { Problem } from "@realtime-avatar/domain/problem";
import { serve } from "@realtime-avatar/runtime/serve";
import { until } from "@realtime-avatar/testing/until";
import { createFileSender, type FileSenderOptions } from "./send-file.ts";

// Tests do not assert times, so that a slow machine does not fail one.
setDefaultTimeout(60_000);

/** More than the operating system buffers for a client that reads nothing. */
const FILE_BYTES = 24 * 1024 * 1024;
const HOUR_MS = 3_600_000;
/** Limits that no client of a test reaches, even on a slow machine. */
const NEVER = { stalledMs: HOUR_MS, scarceStalledMs: HOUR_MS };

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

/** A server whose `/<client>/<file>` is a file. */
const start = (options: FileSenderOptions) => {
  const sender = createFileSender(options);
  const piece = new Uint8Array(1024 * 1024);
  let opened = 0;
  const openFile = async () => {
    opened++;
    let left = FILE_BYTES;
    const pull = (controller: ReadableStreamDefaultController<Uint8Array>) => {
      if (left === 0) return controller.close();
      left -= piece.byteLength;
      controller.enqueue(piece.slice());
    };
    return { stream: new ReadableStream<Uint8Array>({ pull }, { highWaterMark: 0 }) };
  };
  const server = serve(
    { host: "127.0.0.1", port: 0, portVariable: "PORT" },
    { keepAliveMs: 60_000, requestMs: 60_000 },
    async (request) => {
      const [, client = "", file = ""] = new URL(request.url).pathname.split("/");
      try {
        return new Response(await sender.open({ client, file }, openFile));
      } catch (error) {
        return new Response(null, { status: error instanceof Problem ? error.status : 500 });
      }
    },
  );
  ends.push(() => server.stop(true));
  /** Requests a file, and reads nothing. */
  const idle = (path: string): Socket => {
    const socket = connect(server.port ?? 0, "127.0.0.1").pause();
    socket.on("error", () => {});
    socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
    ends.unshift(async () => socket.destroy());
    return socket;
  };
  const ask = async (path: string): Promise<number> => {
    const response = await fetch(server.url.origin + path);
    const { byteLength } = await response.arrayBuffer();
    expect(byteLength).toBe(response.status === 200 ? FILE_BYTES : 0);
    return response.status;
  };
  return { sender, idle, ask, opened: () => opened };
};
/** A short poll interval, for states that last only for a moment. */
const OFTEN = { pollMs: 5 };

test("a client that reads nothing, on more connections than places: others are served; it gets 429", async () => {
  const { sender, idle, ask } = start({ maxOpen: 16, ...NEVER });
  for (let count = 0; count < 32; count++) idle(`/slow/${count}`);
  await until(() => sender.count() === 4, OFTEN);
  expect(await Promise.all(["/a/1", "/b/2", "/c/3", "/d/1"].map(ask))).toEqual([200, 200, 200, 200]);
  expect(await ask("/slow/1")).toBe(429);
});

test("many clients that read nothing of one file: other files are served", async () => {
  const { sender, idle, ask } = start({ maxOpen: 16, ...NEVER });
  for (let count = 0; count < 32; count++) idle(`/${count}/popular`);
  await until(() => sender.count() === 12, OFTEN);
  expect(await ask("/a/other")).toBe(200);
  expect(await ask("/a/popular")).toBe(503);
});

test("two clients that read nothing, with all places of one file: others get the file", async () => {
  const { sender, idle, ask } = start({ maxOpen: 16, ...NEVER });
  for (const client of ["slow", "idle"]) for (let count = 0; count < 8; count++) idle(`/${client}/popular`);
  await until(() => sender.count() === 8, OFTEN);
  expect(await Promise.all(["/a", "/b", "/c"].map((client) => ask(`${client}/popular`)))).toEqual([200, 200, 200]);
});

test("clients that read nothing, in all places: they lose them soon, and others are served", async () => {
  const { sender, idle, ask, opened } = start({ maxOpen: 4, stalledMs: HOUR_MS, scarceStalledMs: 100 });
  for (let count = 0; count < 4; count++) idle(`/${count}/${count}`);
  await until(() => opened() === 4, OFTEN);
  // On a busy machine, this client can lose its place too.
  await until(async () => (await ask("/a/1").catch(() => 0)) === 200);
  expect(sender.count()).toBeLessThan(4);
});

test("a client that reads nothing, with free places: it loses its place after the full time", async () => {
  const { sender, idle } = start({ maxOpen: 100, stalledMs: 200 });
  idle("/slow/1");
  await until(() => sender.count() === 1, OFTEN);
  await until(() => sender.count() === 0, OFTEN);
});

test("a client that disconnects: its place is free at once", async () => {
  const { sender, idle } = start({ stalledMs: HOUR_MS });
  const socket = idle("/slow/1");
  await until(() => sender.count() === 1, OFTEN);
  socket.destroy();
  await until(() => sender.count() === 0, OFTEN);
});

/** Files in pieces, the last of which can fail. `open`: number of open files. */
const createFiles = () => {
  let open = 0;
  const file =
    (pieces: number, fails = false) =>
    async () => {
      open++;
      let sent = 0;
      const pull = (controller: ReadableStreamDefaultController<Uint8Array>): void => {
        const isOver = sent++ === pieces;
        if (isOver) open--;
        if (!isOver) controller.enqueue(new Uint8Array(1024));
        else if (fails) controller.error(new Error("the disk failed"));
        else controller.close();
      };
      return { stream: new ReadableStream<Uint8Array>({ pull, cancel: () => void open-- }, { highWaterMark: 0 }) };
    };
  return { file, open: () => open };
};

test("a file, after each kind of end: closed, with its place free", async () => {
  const sender = createFileSender({ stalledMs: 50 });
  const { file, open } = createFiles();
  const asked: string[] = [];
  const ways: [string, Parameters<typeof sender.open>[1]][] = Object.entries({
    "no file": async () => null,
    "a file that cannot be opened": () => Promise.reject(new Error("the disk failed")),
    "an empty file": file(0),
    "a file": file(3),
    "a file that fails at its beginning": file(0, true),
    "a file that fails later": file(3, true),
    "a file that is not sent": file(3),
    "a file that is sent in part": file(2 ** 20),
  });
  const server = serve(
    { host: "127.0.0.1", port: 0, portVariable: "PORT" },
    { keepAliveMs: 60_000, requestMs: 60_000 },
    async (request) => {
      const [way, openFile] = ways[Number(new URL(request.url).pathname.slice(1))] ?? ["", file(0)];
      const stream = await sender.open({ client: "x", file: way }, openFile).catch(() => null);
      asked.push(way);
      return new Response(way === "a file that is not sent" ? null : stream);
    },
  );
  ends.push(() => server.stop(true));
  for (const [index, [way]] of ways.entries()) {
    for (const method of ["GET", "HEAD"]) {
      const response = await fetch(`${server.url.origin}/${index}`, { method }).catch(() => null);
      const reader = response?.body?.getReader();
      // On a busy machine, the server can end a stalled connection before the test cancels it.
      if (way.endsWith("in part")) await reader?.cancel().catch(() => {});
      else
        while (
          await reader?.read().then(
            ({ done }) => !done,
            () => false,
          )
        );
      await until(() => sender.count() === 0 && open() === 0, { ...OFTEN, state: `${method} ${way}` });
      expect(asked.at(-1)).toBe(way);
    }
  }
});

/** A server of one file, which yields its next piece when the test decides. */
const startSlow = (stalledMs: number) => {
  const sender = createFileSender({ stalledMs });
  let give = (): void => {};
  let isCanceled = false;
  const stream = new ReadableStream<Uint8Array>(
    {
      pull: (controller) =>
        new Promise((resolve) => {
          give = () => {
            controller.enqueue(new Uint8Array(1024));
            controller.close();
            resolve();
          };
        }),
      cancel: () => {
        isCanceled = true;
      },
    },
    { highWaterMark: 0 },
  );
  const server = serve(
    { host: "127.0.0.1", port: 0, portVariable: "PORT" },
    { keepAliveMs: 60_000, requestMs: 60_000 },
    async () => new Response(await sender.open({ client: "x", file: "x" }, async () => ({ stream }))),
  );
  ends.push(() => server.stop(true));
  return { sender, url: server.url.origin, give: () => give(), isCanceled: () => isCanceled };
};

test("a client that disconnects while the store is slow: its place is free and its file is closed before the next piece", async () => {
  const { sender, url, isCanceled } = startSlow(HOUR_MS);
  const controller = new AbortController();
  const asked = fetch(url, { signal: controller.signal }).catch(() => null);
  await until(() => sender.count() === 1, OFTEN);
  await Bun.sleep(20);
  controller.abort();
  await asked;
  await until(() => sender.count() === 0 && isCanceled(), OFTEN);
});

test("a store slower than the limit of clients: the client keeps its place", async () => {
  const { sender, url, give } = startSlow(50);
  const asked = fetch(url).then((response) => response.bytes());
  await until(() => sender.count() === 1, OFTEN);
  await Bun.sleep(150);
  give();
  expect((await asked).byteLength).toBe(1024);
});
