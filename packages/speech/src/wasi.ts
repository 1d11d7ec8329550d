/**
 * Runs a WebAssembly program that turns its arguments into one file: the part of WASI (snapshot preview 1) that Flite imports.
 * The program has no other file, no network, no environment, no random numbers, and a clock that stands still: the same
 * arguments give the same file.
 */

const FOLDER = "/out";
const FILE = "speech.wav";
/** The path at which the program writes its file. */
export const OUTPUT_PATH = `${FOLDER}/${FILE}`;

/** File descriptors 0 to 2 are standard input, output and error. */
const FOLDER_FD = 3;
const FILE_FD = 4;
const SUCCESS = 0;
const BAD_DESCRIPTOR = 8;
const TOO_LARGE = 22;
const NOT_FOUND = 44;
const FILE_TYPES: Record<number, number> = { [FOLDER_FD]: 3, [FILE_FD]: 4 };
const CHARACTER_DEVICE = 2;
const ALL_RIGHTS = 0xffff_ffff_ffff_ffffn;

/** The exception by which `proc_exit` ends the program. */
class Exit {
  constructor(readonly code: number) {}
}

/** Bytes that grow up to a limit, with a position. */
const createFile = (maxBytes: number) => {
  let bytes = new Uint8Array(64 * 1024);
  let length = 0;
  let position = 0;
  return {
    /** Returns false, and writes nothing, beyond the limit. */
    write: (part: Uint8Array): boolean => {
      const end = position + part.length;
      if (end > maxBytes) return false;
      if (end > bytes.length) {
        const larger = new Uint8Array(Math.max(end, 2 * bytes.length));
        larger.set(bytes.subarray(0, length));
        bytes = larger;
      }
      bytes.set(part, position);
      position = end;
      length = Math.max(length, end);
      return true;
    },
    seek: (offset: number, whence: number): number => {
      const from = [0, position, length][whence] ?? 0;
      position = Math.min(Math.max(from + offset, 0), maxBytes);
      return position;
    },
    content: (): Uint8Array => bytes.subarray(0, length),
  };
};

type File = ReturnType<typeof createFile>;

const createImports = (args: readonly string[], file: File, memory: () => ArrayBuffer) => {
  const encoded = args.map((arg) => new TextEncoder().encode(`${arg}\0`));
  const view = (): DataView => new DataView(memory());
  const bytes = (start: number, length: number): Uint8Array => new Uint8Array(memory(), start, length);
  return {
    args_sizes_get: (count: number, size: number): number => {
      view().setUint32(count, encoded.length, true);
      view().setUint32(
        size,
        encoded.reduce((sum, arg) => sum + arg.length, 0),
        true,
      );
      return SUCCESS;
    },
    args_get: (pointers: number, buffer: number): number => {
      let at = buffer;
      for (const [index, arg] of encoded.entries()) {
        view().setUint32(pointers + 4 * index, at, true);
        bytes(at, arg.length).set(arg);
        at += arg.length;
      }
      return SUCCESS;
    },
    clock_time_get: (_clock: number, _precision: bigint, time: number): number => {
      view().setBigUint64(time, 0n, true);
      return SUCCESS;
    },
    fd_prestat_get: (fd: number, prestat: number): number => {
      if (fd !== FOLDER_FD) return BAD_DESCRIPTOR;
      view().setUint32(prestat, 0, true);
      view().setUint32(prestat + 4, FOLDER.length, true);
      return SUCCESS;
    },
    fd_prestat_dir_name: (fd: number, path: number, length: number): number => {
      if (fd !== FOLDER_FD || length < FOLDER.length) return BAD_DESCRIPTOR;
      new TextEncoder().encodeInto(FOLDER, bytes(path, length));
      return SUCCESS;
    },
    path_open: (fd: number, _flags: number, path: number, length: number, ...rest: (number | bigint)[]): number => {
      const name = new TextDecoder().decode(bytes(path, length));
      if (fd !== FOLDER_FD || name !== FILE) return NOT_FOUND;
      view().setUint32(Number(rest.at(-1)), FILE_FD, true);
      return SUCCESS;
    },
    fd_fdstat_get: (fd: number, stat: number): number => {
      if (fd > FILE_FD) return BAD_DESCRIPTOR;
      bytes(stat, 24).fill(0);
      view().setUint8(stat, FILE_TYPES[fd] ?? CHARACTER_DEVICE);
      view().setBigUint64(stat + 8, ALL_RIGHTS, true);
      view().setBigUint64(stat + 16, ALL_RIGHTS, true);
      return SUCCESS;
    },
    fd_fdstat_set_flags: (): number => SUCCESS,
    fd_close: (): number => SUCCESS,
    fd_read: (_fd: number, _vectors: number, _count: number, size: number): number => {
      view().setUint32(size, 0, true);
      return SUCCESS;
    },
    fd_seek: (fd: number, offset: bigint, whence: number, position: number): number => {
      if (fd !== FILE_FD) return BAD_DESCRIPTOR;
      view().setBigUint64(position, BigInt(file.seek(Number(offset), whence)), true);
      return SUCCESS;
    },
    fd_write: (fd: number, vectors: number, count: number, size: number): number => {
      let total = 0;
      for (let index = 0; index < count; index++) {
        const start = view().getUint32(vectors + 8 * index, true);
        const length = view().getUint32(vectors + 8 * index + 4, true);
        if (fd === FILE_FD && !file.write(bytes(start, length))) return TOO_LARGE;
        total += length;
      }
      view().setUint32(size, total, true);
      return SUCCESS;
    },
    proc_exit: (code: number): never => {
      throw new Exit(code);
    },
  };
};

const PAGE_BYTES = 64 * 1024;

export type ProgramMemory = {
  /** The largest file that the program may write. */
  maxFileBytes: number;
  /**
   * Memory that the program gets before it starts, in addition to its data. Unused pages cost only address space. In a
   * process with a limit of data (`RLIMIT_DATA`), JavaScriptCore cannot reserve the 4 GiB in which a memory grows in
   * place: it copies the whole memory at each growth.
   */
  reservedBytes: number;
};

/**
 * Runs `program` with these arguments, the name of the program first. Returns what it wrote to `OUTPUT_PATH`. Throws
 * when the program fails or exceeds the size of the file. It runs without a pause, so its arguments must bound its time
 * and memory.
 */
export const runProgram = async (
  program: WebAssembly.Module,
  args: readonly string[],
  { maxFileBytes, reservedBytes }: ProgramMemory,
): Promise<Uint8Array> => {
  const file = createFile(maxFileBytes);
  let memory: WebAssembly.Memory | undefined;
  const imports = createImports(args, file, () => memory?.buffer as ArrayBuffer);
  const { exports } = await WebAssembly.instantiate(program, { wasi_snapshot_preview1: imports });
  memory = exports["memory"] as WebAssembly.Memory;
  memory.grow(Math.ceil(reservedBytes / PAGE_BYTES));
  let code = 0;
  try {
    (exports["_start"] as () => void)();
  } catch (error) {
    if (!(error instanceof Exit)) throw error;
    code = error.code;
  }
  if (code !== 0) throw new Error(`The program ended with code ${code}.`);
  return file.content();
};
