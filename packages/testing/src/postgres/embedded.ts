/** An embedded PostgreSQL that can be reached by TCP, through proxies and poolers. */
import { type EmbeddedDatabase, type EmbeddedOptions, openEmbedded } from "@realtime-avatar/db/connection/embedded";
import { freePort } from "../network/ports.ts";

/** Opens an embedded server that also listens on TCP. Returns its URL. */
export const openByTcp = async (
  data: string,
  options: EmbeddedOptions & { port?: number } = {},
): Promise<EmbeddedDatabase & { port: number }> => {
  for (let attempt = 1; ; attempt++) {
    const port = options.port ?? (await freePort());
    const settings = { listen_addresses: "127.0.0.1", port: String(port), ...options.settings };
    try {
      const embedded = await openEmbedded(data, { ...options, settings });
      const url = new URL(embedded.url);
      url.host = `127.0.0.1:${port}`;
      return { ...embedded, url: url.href, port };
    } catch (error) {
      // Another process may have taken the port meanwhile.
      if (options.port !== undefined || attempt === 3) throw error;
    }
  }
};
