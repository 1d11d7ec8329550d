/** One request, over HTTPS, to a checked address. */
import { type Agent, type ClientRequest, type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { isIPv6, type Socket } from "node:net";
import { dns } from "bun";
import { isPublicAddress } from "./address.ts";
import { type Refused, refused, type Unavailable, unavailable } from "./outcome.ts";
import { HTTPS_PORTS, type Target } from "./target.ts";

/** How the fetcher reaches hosts. Tests replace parts of it; the service uses `PUBLIC_INTERNET`. */
export type Network = {
  /** The addresses of a host name. */
  resolve: (host: string) => Promise<string[]>;
  isAllowed: (address: string) => boolean;
  ports: readonly number[];
  /** The certificate authorities as PEM, instead of those of the system. */
  ca?: string;
};

export const PUBLIC_INTERNET: Network = {
  // The dot makes the name absolute, so that the resolver does not append the search domains of the cluster. `lookup`
  // of node:dns is not used: it waits in a thread, and one thread exists per core. A few names whose name server does
  // not respond would delay all other names.
  resolve: async (host) => (await dns.lookup(`${host}.`, { backend: "c-ares" })).map(({ address }) => address),
  isAllowed: isPublicAddress,
  ports: HTTPS_PORTS,
};

/** More addresses than this are not tried. */
const MAX_ADDRESSES = 8;

/** A request to send. */
export type Outgoing = {
  method: "GET" | "POST";
  headers: Record<string, string | number>;
  body: Buffer | null;
  /** Keeps connections to the addresses of this target. False: the connection is used once. */
  agent: Agent | false;
};

const GET: Outgoing = {
  method: "GET",
  headers: { Accept: "*/*", "Accept-Encoding": "identity", "User-Agent": "realtime-avatar" },
  body: null,
  // A reused connection needs no look-up.
  agent: false,
};

/**
 * The addresses of the host. `refused` when one of them is not allowed, because such a name must not be usable at all.
 */
const checkedAddresses = async (
  { host }: Target,
  { resolve, isAllowed }: Pick<Network, "resolve" | "isAllowed">,
): Promise<string[] | Refused | Unavailable> => {
  const addresses = await resolve(host).catch((): string[] => []);
  if (addresses.length === 0) return unavailable("host_not_found", "The host of the URL has no address.");
  if (!addresses.every(isAllowed)) {
    return refused("host_not_public", "The host of the URL has an address that is not public.");
  }
  return addresses.slice(0, MAX_ADDRESSES);
};

const CERTIFICATE_ERROR = /CERT|SELF_SIGNED|ISSUER|UNABLE_TO_VERIFY/;

/** The outcome of an error before the response. Its message is not used: it can contain bytes of the origin. */
const failureOf = ({ code = "" }: NodeJS.ErrnoException): Refused | Unavailable => {
  if (CERTIFICATE_ERROR.test(code)) {
    return refused("certificate_not_valid", "The certificate of the host is not valid for its name.");
  }
  if (code.startsWith("HPE_")) return refused("invalid_response", "The response is not HTTP/1.1.");
  return unavailable("connection_failed", "No connection to the host could be established, or it was closed.");
};

/**
 * `isCut`: whether the connection failed or was aborted since the response began. `response.complete` does not show
 * this for every body.
 */
export type Opened = { kind: "response"; response: IncomingMessage; isCut: () => boolean };
/**
 * `isStale`: whether a kept connection failed before a response. The host may have closed it before it received the
 * request.
 */
export type NotOpened = (Refused | Unavailable) & { isStale?: true };

/** Interim responses (1xx) before the response. A host could send them without end. */
const MAX_INTERIM = 10;

/** Calls `then` when the request has a connection on which it can be sent: a new one or a kept one. */
const onConnected = (outgoing: ClientRequest, then: (socket: Socket) => void): void => {
  outgoing.on("socket", (socket) => {
    if (outgoing.reusedSocket) return then(socket);
    socket.once("encrypted" in socket ? "secureConnect" : "connect", () => then(socket));
  });
};

/** The events of a request. `settle` is called at every possible end; the first call counts. */
const settleOnEvents = (
  outgoing: ClientRequest,
  addresses: readonly string[],
  signal: AbortSignal,
  settle: (outcome: Opened | NotOpened) => void,
): void => {
  let interim = 0;
  let hasFailed = false;
  onConnected(outgoing, (socket) => {
    // A second check, in case the runtime ignores `lookup`.
    if (addresses.includes(socket.remoteAddress ?? "")) return;
    settle(refused("host_not_public", "The host of the URL has an address that is not public."));
    outgoing.destroy();
  });
  outgoing.on("information", () => {
    interim += 1;
    if (interim <= MAX_INTERIM) return;
    settle(refused("invalid_response", `The host sent more than ${MAX_INTERIM} interim responses.`));
    outgoing.destroy();
  });
  // A status of 101. Neither `response` nor `error` follows, and the socket would stay open.
  outgoing.on("upgrade", (_, socket) => {
    socket.on("error", () => {});
    socket.destroy();
    settle(refused("unexpected_status", "The host responded with status 101 instead of 200."));
  });
  outgoing.on("response", (response) => {
    // Without a listener, an error between two reads would end the process.
    response.on("error", () => {});
    settle({ kind: "response", response, isCut: () => hasFailed || signal.aborted });
  });
  outgoing.on("error", (error: NodeJS.ErrnoException) => {
    hasFailed = true;
    settle({ ...failureOf(error), ...(outgoing.reusedSocket && { isStale: true }) });
  });
  outgoing.on("close", () => settle(failureOf({ name: "", message: "" })));
};

/** Sends a request to one of `addresses`, the checked addresses of the target. `connectMs` bounds the connection. */
export const sendTo = (
  { url, host, port }: Target,
  addresses: readonly string[],
  ca: string | undefined,
  { method, headers, body, agent }: Outgoing,
  connectMs: number,
  signal: AbortSignal,
): Promise<Opened | NotOpened> =>
  new Promise((resolve) => {
    // A request that is canceled from the start would leave its new connection among the kept ones.
    if (signal.aborted) return resolve(unavailable("canceled", "The request was canceled."));
    const request = url.protocol === "https:" ? requestHttps : requestHttp;
    const outgoing = request({
      method,
      host,
      port,
      path: url.pathname + url.search,
      servername: host,
      agent,
      signal,
      ...(ca === undefined ? {} : { ca }),
      headers,
      // The connection goes to a checked address. A second look-up could return another address (DNS rebinding).
      lookup: (_host, _options, callback) =>
        callback(
          null,
          addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 })),
        ),
    });
    const stop = () => settle(unavailable("canceled", "The request was canceled."));
    const settle = (outcome: Opened | NotOpened): void => {
      clearTimeout(giveUp);
      signal.removeEventListener("abort", stop);
      resolve(outcome);
    };
    const giveUp = setTimeout(() => {
      // The look-up has taken a part of the time.
      const seconds = Math.ceil(connectMs / 1000);
      settle(unavailable("timed_out", `The host did not accept a TLS connection within ${seconds} s.`));
      outgoing.destroy();
    }, connectMs);
    onConnected(outgoing, () => clearTimeout(giveUp));
    signal.addEventListener("abort", stop);
    settleOnEvents(outgoing, addresses, signal, settle);
    outgoing.end(body ?? undefined);
  });

/** The addresses of `target`, all of them allowed. `connectMs` bounds the look-up. */
export const resolveTarget = async (
  target: Target,
  network: Pick<Network, "resolve" | "isAllowed">,
  connectMs: number,
  signal: AbortSignal,
): Promise<string[] | Refused | Unavailable> => {
  const { promise: tooLate, resolve } = Promise.withResolvers<Unavailable>();
  // A look-up cannot be canceled. Its result is ignored.
  const stop = () => resolve(unavailable("host_not_found", `The host was not resolved within ${connectMs / 1000} s.`));
  const timer = setTimeout(stop, connectMs);
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  const addresses = await Promise.race([tooLate, checkedAddresses(target, network)]);
  clearTimeout(timer);
  signal.removeEventListener("abort", stop);
  return addresses;
};

/**
 * Sends a GET request to `target` and resolves to the response with its body unread. `connectMs` bounds the look-up and the
 * connection with its TLS handshake. `signal` ends the request and the reading of the body.
 */
export const openTarget = async (
  target: Target,
  network: Network,
  connectMs: number,
  signal: AbortSignal,
): Promise<Opened | Refused | Unavailable> => {
  const startedAt = performance.now();
  const addresses = await resolveTarget(target, network, connectMs, signal);
  if (!Array.isArray(addresses)) return addresses;
  const leftMs = Math.max(1, connectMs - (performance.now() - startedAt));
  return sendTo(target, addresses, network.ca, GET, leftMs, signal);
};
