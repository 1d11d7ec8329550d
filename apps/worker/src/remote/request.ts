/** One HTTPS request to an address that was checked. */
import { lookup } from "node:dns/promises";
import type { ClientRequest, IncomingMessage } from "node:http";
import { request } from "node:https";
import { isIPv6 } from "node:net";
import type { TLSSocket } from "node:tls";
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
  // The dot makes the name absolute: the resolver must not append the search domains of the cluster.
  resolve: async (host) => (await lookup(`${host}.`, { all: true })).map(({ address }) => address),
  isAllowed: isPublicAddress,
  ports: HTTPS_PORTS,
};

/** More addresses than this are not tried. */
const MAX_ADDRESSES = 8;

/** The addresses of the host. `refused` when one of them is not allowed: such a name must not be usable in any way. */
const checkedAddresses = async (host: string, network: Network): Promise<string[] | Refused | Unavailable> => {
  const addresses = await network.resolve(host).catch((): string[] => []);
  if (addresses.length === 0) return unavailable("host_not_found", "The host of the URL has no address.");
  if (!addresses.every(network.isAllowed)) {
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

/** `isCut`: whether the connection failed or was aborted since, which `response.complete` does not say for each body. */
type Opened = { kind: "response"; response: IncomingMessage; isCut: () => boolean };

/** Interim responses (1xx) before the response. A host could send them without end. */
const MAX_INTERIM = 10;

/** The events of a request. `settle` is called in every way in which it can end; the first call counts. */
const settleOnEvents = (
  outgoing: ClientRequest,
  addresses: readonly string[],
  signal: AbortSignal,
  settle: (outcome: Opened | Refused | Unavailable) => void,
): void => {
  let interim = 0;
  let hasFailed = false;
  outgoing.on("socket", (socket) =>
    socket.once("secureConnect", () => {
      // A second check, in case the runtime ignores `lookup`.
      if (addresses.includes((socket as TLSSocket).remoteAddress ?? "")) return;
      settle(refused("host_not_public", "The host of the URL has an address that is not public."));
      outgoing.destroy();
    }),
  );
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
    settle(failureOf(error));
  });
  outgoing.on("close", () => settle(failureOf({ name: "", message: "" })));
};

const connect = (
  { url, host, port }: Target,
  addresses: readonly string[],
  network: Network,
  connectMs: number,
  signal: AbortSignal,
): Promise<Opened | Refused | Unavailable> =>
  new Promise((resolve) => {
    const outgoing = request({
      host,
      port,
      path: url.pathname + url.search,
      servername: host,
      // A connection that is used again is not looked up again.
      agent: false,
      signal,
      ...(network.ca === undefined ? {} : { ca: network.ca }),
      headers: { Accept: "*/*", "Accept-Encoding": "identity", "User-Agent": "realtime-avatar" },
      // The connection goes to an address that was checked. A second look-up could return another one (DNS rebinding).
      lookup: (_host, _options, callback) =>
        callback(
          null,
          addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 })),
        ),
    });
    const stop = () => settle(unavailable("canceled", "The request was canceled."));
    const settle = (outcome: Opened | Refused | Unavailable): void => {
      clearTimeout(giveUp);
      signal.removeEventListener("abort", stop);
      resolve(outcome);
    };
    const giveUp = setTimeout(() => {
      settle(unavailable("timed_out", `The host did not accept a TLS connection within ${connectMs} ms.`));
      outgoing.destroy();
    }, connectMs);
    outgoing.on("socket", (socket) => socket.once("secureConnect", () => clearTimeout(giveUp)));
    signal.addEventListener("abort", stop);
    if (signal.aborted) stop();
    settleOnEvents(outgoing, addresses, signal, settle);
    outgoing.end();
  });

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
  const { promise: tooLate, resolve } = Promise.withResolvers<Unavailable>();
  // A look-up cannot be canceled. Its result is ignored.
  const stop = () => resolve(unavailable("host_not_found", `The host was not resolved within ${connectMs} ms.`));
  const timer = setTimeout(stop, connectMs);
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  const addresses = await Promise.race([tooLate, checkedAddresses(target.host, network)]);
  clearTimeout(timer);
  signal.removeEventListener("abort", stop);
  if (!Array.isArray(addresses)) return addresses;
  return connect(target, addresses, network, Math.max(1, connectMs - (performance.now() - startedAt)), signal);
};
