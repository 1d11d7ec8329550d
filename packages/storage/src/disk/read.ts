/**
 * Reads of stored files, by the numbers of their descriptors. A caller can drop a stream without reading or cancelling
 * it. With a `FileHandle`, Bun would then collect the open handle and throw, which ends the process.
 */
import { close, fstat, open, read } from "node:fs";
import { promisify } from "node:util";
import { StorageError } from "../storage.ts";
import { diskError } from "./files.ts";

/** Large enough that system calls do not dominate; small compared with the memory of a process. */
const CHUNK_BYTES = 256 * 1024;

export const openDescriptor = promisify(open) as (path: string, flags: "r") => Promise<number>;
export const closeDescriptor = promisify(close);
export const statDescriptor = promisify(fstat);
const readOnce = promisify(read);

/** Reads `length` bytes from an offset, or fewer at the end of the file. */
export const readBytes = async (descriptor: number, offset: number, length: number): Promise<Buffer> => {
  const buffer = Buffer.alloc(length);
  let filled = 0;
  while (filled < length) {
    const { bytesRead } = await readOnce(descriptor, buffer, filled, length - filled, offset + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return buffer.subarray(0, filled);
};

/** Closes the files of streams that were dropped. */
const dropped = new FinalizationRegistry<number>((descriptor) => close(descriptor, () => {}));

/** The bytes from `start` to `end` (inclusive) of a file, read as they are asked for. Closes the file at the end. */
export const readFrom = (descriptor: number, start: number, end: number): ReadableStream<Uint8Array> => {
  const token = {};
  let offset = start;
  let isOpen = true;
  let reading: Promise<unknown> = Promise.resolve();
  const finish = async (): Promise<void> => {
    if (!isOpen) return;
    isOpen = false;
    dropped.unregister(token);
    // A descriptor that is closed while it is read may already name another file.
    await reading.catch(() => {});
    await closeDescriptor(descriptor);
  };
  const pull = async (controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
    try {
      const length = Math.min(CHUNK_BYTES, end + 1 - offset);
      if (length > 0) {
        const pending = readBytes(descriptor, offset, length);
        reading = pending;
        const bytes = await pending;
        if (!isOpen) return;
        if (bytes.byteLength < length) throw new StorageError("damaged", "A stored file was cut while it was read.");
        controller.enqueue(bytes);
        offset += length;
      }
      if (offset <= end) return;
      await finish();
      controller.close();
    } catch (error) {
      await finish().catch(() => {});
      throw diskError(error);
    }
  };
  const stream = new ReadableStream<Uint8Array>({ pull, cancel: finish }, { highWaterMark: 0 });
  dropped.register(stream, descriptor, token);
  return stream;
};
