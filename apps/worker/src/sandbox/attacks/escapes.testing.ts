/** A child that was taken over and searches for a way around its filter: `bun escapes.testing.ts <way> <argument>`. */
import { dlopen, ptr } from "bun:ffi";
import { writeFileSync, writeSync } from "node:fs";
import { filterSystemCalls } from "../system-calls.ts";

const [, , way = "", argument = ""] = process.argv;

const { symbols: libc } = dlopen("libc.so.6", {
  fcntl: { args: ["int", "int", "i64"], returns: "int" },
  ioctl: { args: ["int", "u64", "ptr"], returns: "int" },
  pipe: { args: ["ptr"], returns: "int" },
  socketpair: { args: ["int", "int", "int", "ptr"], returns: "int" },
  sendto: { args: ["int", "ptr", "u64", "int", "ptr", "u32"], returns: "i64" },
  memfd_create: { args: ["ptr", "u32"], returns: "int" },
  setpriority: { args: ["int", "int", "int"], returns: "int" },
});

// linux/fcntl.h and asm-generic/ioctls.h
const [F_SETFL, F_SETOWN, F_SETSIG, O_NONBLOCK, O_ASYNC, FIOSETOWN] = [4, 8, 10, 0x800, 0x2000, 0x8901n];
const SIGKILL = 9;
const [AF_UNIX, SOCK_DGRAM] = [1, 2];
const MIB = 1024 * 1024;

/** A pipe; the read end comes first. */
const pipe = (): [number, number] => {
  const ends = new Int32Array(2);
  libc.pipe(ptr(ends));
  return [ends[0] ?? -1, ends[1] ?? -1];
};

const WAYS: Record<string, () => unknown> = {
  // The kernel sends a signal to the owner of a pipe when data can be read.
  owner: () => {
    const [from, to] = pipe();
    libc.fcntl(from, F_SETOWN, Number(argument));
    libc.fcntl(from, F_SETSIG, SIGKILL);
    libc.fcntl(from, F_SETFL, O_ASYNC | O_NONBLOCK);
    writeSync(to, "x");
  },
  // The owner of a socket can also be set by ioctl. The report and the errors are sockets.
  "owner of a socket": () => libc.ioctl(2, FIOSETOWN, ptr(Int32Array.of(Number(argument)))),
  // A pair of sockets is two new sockets. Each may send to any other socket.
  pair: () => {
    const ends = new Int32Array(2);
    if (libc.socketpair(AF_UNIX, SOCK_DGRAM, 0, ptr(ends)) !== 0) return "refused";
    const path = Buffer.from(argument);
    const address = Buffer.concat([Uint8Array.of(AF_UNIX, 0), path, Uint8Array.of(0)]);
    return Number(libc.sendto(ends[0] ?? -1, ptr(Buffer.from("x")), 1, 0, ptr(address), address.length));
  },
  // The kernel does not count the memory of such a file for any process.
  memory: () => {
    const piece = Buffer.alloc(MIB, 1);
    let written = 0;
    for (let file = 0; file < 42; file += 1) {
      const descriptor = libc.memfd_create(ptr(Buffer.from("x\0")), 0);
      if (descriptor < 0) return "refused";
      for (let count = 0; count < 31; count += 1) written += writeSync(descriptor, piece);
    }
    return written;
  },
  priority: () => libc.setpriority(0, Number(argument), 19),
};

filterSystemCalls({ mayExecute: false });
writeFileSync(2, JSON.stringify({ said: WAYS[way]?.() ?? null }));
process.exit(3);
