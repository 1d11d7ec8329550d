/** Requests as bytes, over a socket, for end-to-end tests. */
import { expect } from "bun:test";
import { connect, type Socket } from "node:net";
import { UUID_V7 } from "./api.ts";

type Wire = {
  socket: Socket;
  /** The received bytes so far. */
  text(): string;
  /** Waits until `pattern` is received, or the connection is closed. */
  until(pattern: RegExp): Promise<string>;
  /** Waits until the connection is closed. Returns all received bytes. */
  whole(): Promise<string>;
  closed: Promise<void>;
};

/** `port`: returns the port of the service after its start. */
export const wireCalls = (port: () => number) => {
  const dial = (): Wire => {
    const socket = connect(port(), "127.0.0.1");
    let received = "";
    const changes = new Set<() => void>();
    const changed = (): void => {
      for (const change of changes) change();
    };
    socket.on("data", (chunk) => {
      received += chunk.toString("latin1");
      changed();
    });
    socket.on("error", () => {});
    const closed = new Promise<void>((resolve) => socket.on("close", () => resolve()));
    const until = (pattern: RegExp): Promise<string> =>
      new Promise((resolve) => {
        const look = (): void => {
          if (!pattern.test(received)) return;
          changes.delete(look);
          resolve(received);
        };
        changes.add(look);
        closed.then(() => resolve(received));
        look();
      });
    return { socket, text: () => received, until, whole: () => closed.then(() => received), closed };
  };

  /** All received bytes for these bytes, until the connection is closed. One of the requests must ask for the close. */
  const exchange = async (bytes: string): Promise<string> => {
    const { socket, whole } = dial();
    socket.write(bytes, "latin1");
    return whole();
  };
  return { dial, exchange };
};

type Raw = { version?: string; host?: string | null; headers?: string; body?: string };
/** A request as bytes. `host`: the value of its `Host` field; null omits the field. */
export const request = (
  method: string,
  target: string,
  { version = "1.1", host = "api", headers = "", body }: Raw = {},
) =>
  `${method} ${target} HTTP/${version}\r\n` +
  (host === null ? "" : `Host: ${host}\r\n`) +
  headers +
  (body === undefined ? "" : `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n`) +
  `\r\n${body ?? ""}`;
export const CLOSE = "Connection: close\r\n";

export const readStatuses = (text: string): number[] =>
  [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, code]) => Number(code));
/** The only response, as a problem. */
export const problemIn = (text: string) => {
  const [head = "", body = ""] = text.split("\r\n\r\n");
  expect(head).toMatch(/content-type: application\/problem\+json/i);
  const problem = JSON.parse(body);
  expect(head.toLowerCase()).toContain(`x-request-id: ${problem.requestId}`);
  expect(problem.requestId).toMatch(UUID_V7);
  return { status: readStatuses(head)[0], code: problem.code };
};
export const NOT_FOUND = { status: 404, code: "not_found" };
export const MALFORMED = { status: 400, code: "malformed_request" };
