/** A pipe whose reader is the test, for a log that is read late or never. */
import { closeSync, constants, openSync, readSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A pipe that is read only when the test calls `read`. */
export type TestPipe = {
  /** The file descriptor to use as the standard output of a process. */
  writer: number;
  /** The content of the pipe: empty while no bytes are available, null at the end. */
  read(): string | null;
  /** Closes the test's own copy of `writer`. Call it once the process has started; otherwise the pipe never ends. */
  closeWriter(): void;
  /** Closes the reading end, like a reader that exits. */
  closeReader(): void;
  /** Closes both ends and removes the pipe. */
  remove(): Promise<void>;
};

/** Opens a named pipe. Unlike the pipes of `Bun.spawn`, nothing reads it in advance. */
export const openPipe = async (): Promise<TestPipe> => {
  const folder = await mkdtemp(join(tmpdir(), "realtime-avatar-pipe-"));
  const path = join(folder, "pipe");
  Bun.spawnSync(["mkfifo", path]);
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const writer = openSync(path, constants.O_WRONLY);
  const buffer = Buffer.alloc(1 << 20);
  const open = new Set([reader, writer]);
  const close = (descriptor: number): void => {
    if (open.delete(descriptor)) closeSync(descriptor);
  };
  return {
    writer,
    read: () => {
      try {
        const count = readSync(reader, buffer);
        return count === 0 ? null : buffer.toString("utf8", 0, count);
      } catch (error) {
        if ((error as { code?: string }).code === "EAGAIN") return "";
        throw error;
      }
    },
    closeWriter: () => close(writer),
    closeReader: () => close(reader),
    remove: async () => {
      for (const descriptor of open) close(descriptor);
      await rm(folder, { recursive: true });
    },
  };
};
