/** Records the calls that make files and folders durable. Their order shows which files would survive a power cut. */
import { type FileHandle, open, readlink } from "node:fs/promises";

/** Whether the path of an open file can be found. */
export const canSeeSyncs = process.platform === "linux";

export type Sync<Seen> = {
  /** The path of the file or the folder. */
  path: string;
  /** The result of `look` before the file is durable. */
  seen: Seen;
};

/**
 * Runs `work`, and returns the files and folders that it has made durable, in order. Each call takes a moment, so work
 * that does not wait for a call has continued or ended when `look` is called.
 */
export const recordSyncs = async <Seen>(work: () => Promise<unknown>, look: () => Seen): Promise<Sync<Seen>[]> => {
  const file = await open("/dev/null", "r");
  await file.close();
  // All open files share this method.
  const methods: Pick<FileHandle, "sync"> = Object.getPrototypeOf(file);
  const { sync } = methods;
  const syncs: Sync<Seen>[] = [];
  methods.sync = async function (this: FileHandle): Promise<void> {
    const path = await readlink(`/proc/self/fd/${this.fd}`);
    await Bun.sleep(5);
    const seen = look();
    await sync.call(this);
    syncs.push({ path, seen });
  };
  try {
    await work();
    return [...syncs];
  } finally {
    methods.sync = sync;
  }
};
