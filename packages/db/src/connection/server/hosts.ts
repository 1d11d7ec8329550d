/** The servers that a `postgres://` URL names. */

/** A server: its name or address, or the folder of its Unix socket. */
export type Host = { host: string; port: number };

const HOSTS = /^postgres(?:ql)?:\/\/(?:[^/?#]*@)?([^/?#]+)/;
const DEFAULT_PORT = 5432;

/** The hosts of a `postgres://` URL, which are separated by commas. Throws a `TypeError` for any other URL. */
export const parseHosts = (url: string): Host[] => {
  const [, hosts] = HOSTS.exec(url) ?? [];
  if (hosts === undefined) throw new TypeError("not a postgres:// URL");
  return hosts.split(",").map((text) => {
    const { hostname, port } = new URL(`postgres://${text}`);
    return { host: decodeURIComponent(hostname).replace(/^\[(.*)\]$/, "$1"), port: Number(port || DEFAULT_PORT) };
  });
};

/** The same URL with `localhost` in place of its list of hosts, for parsers that know no lists. */
export const withoutHosts = (url: string): string =>
  url.replace(HOSTS, (start, hosts: string) => `${start.slice(0, -hosts.length)}localhost`);

/** The path of a server's Unix socket; `null` for a server that is reached by TCP. */
export const socketPath = ({ host, port }: Host): string | null =>
  host.startsWith("/") ? `${host}/.s.PGSQL.${port}` : null;
