/**
 * The LiveKit server of the tests: `LIVEKIT_SERVER_BIN`, `livekit-server` on the PATH, or one that is built from its source. It
 * is built once, which takes some minutes, and kept outside the repository.
 */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, open, readFile, rename, rm } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { isAlive } from "../alive.ts";

/** The Go module that names the version, and the digests of all sources. */
const MODULE = join(import.meta.dir, "../../livekit");
const PACKAGE = "github.com/livekit/livekit-server/cmd/server";

export type LivekitBinary =
  | { kind: "found"; path: string }
  /** `reason`: for the titles of the skipped tests. */
  | { kind: "missing"; reason: string };

const missing = (reason: string): LivekitBinary => ({ kind: "missing", reason });

/** The cache folder of this user. */
const userCache = (): string => {
  const { XDG_CACHE_HOME } = process.env;
  if (XDG_CACHE_HOME) return XDG_CACHE_HOME;
  return process.platform === "darwin" ? join(homedir(), "Library/Caches") : join(homedir(), ".cache");
};

/** The path of the built program. */
const builtPath = async (): Promise<string> => {
  const [, version = ""] = /livekit-server v([\w.-]+)/.exec(await readFile(join(MODULE, "go.mod"), "utf8")) ?? [];
  const name = `livekit-server-${version}-${process.platform}-${process.arch}`;
  return join(userCache(), "realtime-avatar-service", name);
};

/** Builds the server into `path`. Returns the last line of the output of the compiler, or null when it succeeded. */
const build = async (path: string): Promise<string | null> => {
  const temporary = `${path}.${process.pid}`;
  const go = spawn("go", ["build", "-trimpath", "-o", temporary, PACKAGE], {
    cwd: MODULE,
    env: { ...process.env, CGO_ENABLED: "0" },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let printed = "";
  go.stderr.on("data", (text: Buffer) => {
    printed += text.toString();
  });
  const code = await new Promise((resolve) => go.once("close", resolve).once("error", () => resolve(1)));
  if (code === 0) {
    await rename(temporary, path);
    return null;
  }
  await rm(temporary, { force: true });
  return printed.trim().split("\n").at(-1) ?? "";
};

/** Runs `work` in at most one process of this machine at a time. A file names that process. */
const alone = async <Result>(file: string, work: () => Promise<Result>): Promise<Result> => {
  for (;;) {
    try {
      await using handle = await open(file, "wx");
      await handle.write(String(process.pid));
      break;
    } catch {
      const holder = Number(await readFile(file, "utf8").catch(() => ""));
      // A killed process leaves its file.
      if (holder > 0 && !isAlive(holder)) await rm(file, { force: true });
      await new Promise((next) => setTimeout(next, 200));
    }
  }
  try {
    return await work();
  } finally {
    await rm(file, { force: true });
  }
};

/** Finds the server, or builds it. */
export const livekitBinary = async (): Promise<LivekitBinary> => {
  const { LIVEKIT_SERVER_BIN } = process.env;
  if (LIVEKIT_SERVER_BIN) {
    const isThere = existsSync(LIVEKIT_SERVER_BIN);
    return isThere ? { kind: "found", path: LIVEKIT_SERVER_BIN } : missing("LIVEKIT_SERVER_BIN names no file");
  }
  const onPath = Bun.which("livekit-server");
  if (onPath) return { kind: "found", path: onPath };
  const path = await builtPath();
  if (existsSync(path)) return { kind: "found", path };
  if (!Bun.which("go")) return missing("neither livekit-server nor Go is on the PATH");
  await mkdir(join(path, ".."), { recursive: true });
  const failure = await alone(`${path}.lock`, async () => (existsSync(path) ? null : build(path)));
  return failure === null ? { kind: "found", path } : missing(`livekit-server cannot be built: ${failure}`);
};

// Prints the path on standard output. Prints the reason for a missing program on standard error, because a shell takes
// the output as a path.
if (import.meta.main) {
  const binary = await livekitBinary();
  if (binary.kind === "found") process.stdout.write(`${binary.path}\n`);
  else {
    process.stderr.write(`${binary.reason}\n`);
    process.exitCode = 1;
  }
}
