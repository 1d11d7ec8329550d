import { describe, expect, test } from "bun:test";
import { ReadableStream } from "node:stream/web";
import { ByteStreamReader } from "@livekit/rtc-node";
import { until } from "@realtime-avatar/testing/until";
import { createSegments } from "./segments.ts";

type Chunk = { content: Uint8Array };

/** A byte stream like the library's, to which a test writes. `isClosed`: whether the reader has closed it. */
const openStream = (sample_rate = "48000") => {
  let controller: ReadableStreamDefaultController<Chunk> | undefined;
  let isClosed = false;
  const stream = new ReadableStream<Chunk>({
    start: (own) => {
      controller = own;
    },
    cancel: () => {
      isClosed = true;
    },
  });
  const info = {
    streamId: "x",
    mimeType: "",
    topic: "",
    timestamp: 0,
    name: "",
    attributes: { sample_rate, num_channels: "1" },
  };
  const reader = new ByteStreamReader(info, stream as never);
  return {
    reader,
    write: async (seconds: number): Promise<void> => {
      for (let written = 0; written < seconds && !isClosed; written++) {
        controller?.enqueue({ content: new Uint8Array(96_000) });
        await Bun.sleep(0);
      }
    },
    enqueue: (chunks: Chunk[]) => {
      for (const chunk of chunks) controller?.enqueue(chunk);
      controller?.close();
    },
    end: () => controller?.close(),
    fail: () => controller?.error(new Error("aborted")),
    isClosed: () => isClosed,
  };
};
const settle = (): Promise<void> => Bun.sleep(20);

describe("the segments of an agent", () => {
  const start = () => {
    const cuts: number[] = [];
    const segments = createSegments(() => cuts.push(1));
    const takeAll = (): number => {
      let count = 0;
      while (segments.next()) count++;
      return count;
    };
    return { segments, cuts, takeAll };
  };

  test("frames that are peeked before they are played: each once, in order, and still played later", async () => {
    const { segments } = start();
    const [first, second] = [openStream(), openStream("24000")];
    segments.open(first.reader);
    segments.open(second.reader);
    await first.write(1);
    await second.write(1);
    second.end();
    await settle();
    const ahead = [segments.peek(), segments.peek(), segments.peek()];
    expect(new Set(ahead).size).toBe(3);
    expect([segments.next(), segments.next()]).toEqual([ahead[0], ahead[1]]);
    const fourth = segments.peek();
    expect([segments.next(), segments.next()]).toEqual([ahead[2], fourth]);
    // 46 of the 50 frames are left. More can come.
    for (let count = 0; count < 46; count++) expect(segments.peek()).toBeDefined();
    expect(segments.peek()).toBeUndefined();
    first.end();
    await settle();
    for (let count = 0; count < 46; count++) expect(segments.next()).toBeDefined();
    expect([segments.next(), segments.peek()]).toEqual([undefined, undefined]);
    segments.finish();
    let peeked = 0;
    while (segments.peek()) peeked++;
    let played = 0;
    while (segments.next()) played++;
    expect([peeked > 90, played]).toEqual([true, peeked]);
    segments.clear();
    expect([segments.peek(), segments.next()]).toEqual([undefined, undefined]);
  });

  test("more than two minutes of sound, in one segment or in several: the rest is dropped and no longer read", async () => {
    const { segments, cuts, takeAll } = start();
    const first = openStream();
    const second = openStream();
    segments.open(first.reader);
    segments.open(second.reader);
    await first.write(100);
    first.end();
    await second.write(100);
    await settle();
    expect([first.isClosed(), second.isClosed(), cuts.length]).toEqual([false, true, 1]);
    expect(takeAll()).toBe(100 * 50);
    expect(segments.first()).toMatchObject({ isComplete: true, isCut: false });
    segments.finish();
    // Exact to a piece of 0.1 s.
    expect(Math.abs(takeAll() - 20 * 50)).toBeLessThanOrEqual(5);
    expect(segments.first()).toMatchObject({ isComplete: true, isCut: true });
    segments.finish();
    // Played sound makes room.
    const third = openStream();
    segments.open(third.reader);
    await third.write(119);
    await settle();
    expect(takeAll()).toBe(119 * 50);
  });

  test("more than 20,000 short pieces: the rest is dropped; played and dropped pieces make room", async () => {
    const { segments, cuts, takeAll } = start();
    /** Sends pieces of one sample. Returns the number of cut segments so far. */
    const send = async (pieces: number): Promise<number> => {
      const content = Array.from({ length: pieces }, () => ({ content: new Uint8Array(2) }));
      const stream = openStream();
      segments.open(stream.reader);
      stream.enqueue(content);
      await until(() => segments.first()?.isComplete, { pollMs: 1 });
      return cuts.length;
    };
    for (const end of [takeAll, takeAll, segments.clear]) {
      expect(await send(15_000)).toBe(0);
      end();
      segments.finish();
    }
    expect(await send(20_000)).toBe(0);
    segments.clear();
    expect(await send(20_001)).toBe(1);
  });

  test("dropped segments: no longer read, and not played", async () => {
    const { segments, cuts, takeAll } = start();
    const streams = [openStream(), openStream("24000")];
    for (const { reader } of streams) segments.open(reader);
    await streams[0]?.write(2);
    await settle();
    expect(segments.clear()).toHaveLength(2);
    await settle();
    expect(streams.map(({ isClosed }) => isClosed())).toEqual([true, true]);
    expect([segments.first(), takeAll(), cuts.length]).toEqual([undefined, 0, 0]);
    // Dropped segments make room.
    for (let round = 0; round < 2; round++) {
      const long = openStream();
      segments.open(long.reader);
      await long.write(119);
      await settle();
      expect([long.isClosed(), cuts.length]).toEqual([false, 0]);
      segments.clear();
    }
  });

  test("an aborted stream: its received part is played", async () => {
    const { segments, takeAll } = start();
    const stream = openStream();
    segments.open(stream.reader);
    await stream.write(1);
    await settle();
    stream.fail();
    await settle();
    expect(takeAll()).toBe(50);
    expect(segments.first()).toMatchObject({ isComplete: true, isCut: true });
  });

  test("a stream of an unsupported format: not read", async () => {
    const { segments, cuts } = start();
    const stream = openStream("96000");
    expect(segments.open(stream.reader)).toBe(true);
    await settle();
    expect(stream.isClosed()).toBe(true);
    expect([segments.first()?.isComplete, cuts.length]).toEqual([true, 1]);
  });

  test("more than 16 segments: the others are refused", () => {
    const { segments } = start();
    expect(Array.from({ length: 17 }, () => segments.open(openStream().reader))).toEqual([
      ...Array(16).fill(true),
      false,
    ]);
  });
});
