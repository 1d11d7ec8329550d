/** Finds the server that takes writes, among the hosts of a `postgres://` URL. */
import { type Connection, type ConnectionOptions, openConnection } from "./connection.ts";
import { type Host, parseHosts } from "./hosts.ts";

/** The maximum time to connect. A server that was frozen or unreachable is found again after at most this time. */
export const CONNECT_MS = 2000;
/** The time for which one host is tried alone, before the next host is also tried. */
const HEAD_START_MS = 250;

/** Waits until `attempt` settles, but no longer than `HEAD_START_MS`. */
const waitHeadStart = async (attempt: Promise<unknown>): Promise<void> => {
  let timer: Timer | undefined;
  const timeout = new Promise((resolve) => {
    timer = setTimeout(resolve, HEAD_START_MS);
  });
  await Promise.race([attempt.catch(() => {}), timeout]);
  clearTimeout(timer);
};

/**
 * Opens a connection to the first of `hosts` that takes writes. The next host is tried when a host has failed, or has
 * not responded within `HEAD_START_MS`. When no host takes writes, throws the error of one of them.
 */
const openPrimary = async (
  url: string,
  hosts: readonly Host[],
  options: ConnectionOptions,
  onClose: () => void,
): Promise<Connection> => {
  let primary: Connection | null = null;
  const attempt = async (host: Host): Promise<Connection> => {
    const connection = await openConnection(url, host, options, (closed) => closed === primary && onClose());
    if (primary) connection.abandon();
    primary ??= connection;
    return connection;
  };
  const attempts: Promise<Connection>[] = [];
  for (const host of hosts) {
    const opening = attempt(host);
    attempts.push(opening);
    if (hosts.length > 1) await waitHeadStart(opening);
    if (primary) break;
  }
  return Promise.any(attempts).catch(({ errors }: AggregateError) => {
    // A standby is expected in a list of hosts. Any other error says more about the missing primary.
    throw errors.find(({ code }) => code !== "STANDBY") ?? errors[0];
  });
};

/** Moves `host` to the front, so that hosts that are down or have no address do not delay the next connection. */
const moveToFront = (hosts: Host[], host: Host): void => {
  const index = hosts.indexOf(host);
  if (index > 0) hosts.unshift(...hosts.splice(index, 1));
};

/**
 * Returns a function that opens connections to the primary. It tries the last known primary first. `hostsNow`: the
 * current servers, in place of those of the URL.
 */
export const primaryOpener = (
  url: string,
  options: ConnectionOptions,
  hostsNow?: () => readonly Host[],
): ((onClose: () => void) => Promise<Connection>) => {
  const hosts = parseHosts(url);
  return async (onClose) => {
    const connection = await openPrimary(url, hostsNow?.() ?? [...hosts], options, onClose);
    moveToFront(hosts, connection.host);
    return connection;
  };
};

/** The host of a `postgres://` URL that takes writes. */
export const findPrimary = async (
  url: string,
  { allowWeakAuth }: Pick<ConnectionOptions, "allowWeakAuth"> = {},
): Promise<Host> => {
  const options = { prepare: false, connectMs: CONNECT_MS, allowWeakAuth };
  const connection = await openPrimary(url, parseHosts(url), options, () => {});
  connection.abandon();
  return connection.host;
};
