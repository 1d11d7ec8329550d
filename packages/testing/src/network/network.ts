/** A network between two programs, with faults. */
import { connect, createServer, type Socket } from "node:net";

export type Network = {
  port: number;
  /** The delay of all data, in milliseconds. */
  delayMs: number;
  /** Cuts each connection in the middle of the server's next response. */
  cutResponses: boolean;
  /** Silently loses all responses; requests arrive. */
  losesResponses: boolean;
  /** Silently loses all data on the existing connections. New connections work. */
  loseExisting(): void;
  /** Ends the lost connections, like a server whose keep-alive gets no response. */
  endLost(): void;
  /** Loses all data, also on new connections. */
  isLost: boolean;
  /** Cuts every connection. */
  cut(): void;
  close(): void;
};

export const startNetwork = async (upstreamPort: number): Promise<Network> => {
  const pairs = new Set<{ near: Socket; far: Socket; isLost: boolean }>();
  const server = createServer((near) => {
    const far = connect(upstreamPort, "127.0.0.1");
    const pair = { near, far, isLost: false };
    pairs.add(pair);
    const end = (): void => {
      // A lost connection does not even report its end.
      if (pair.isLost || network.isLost) return;
      near.destroy();
      far.destroy();
      pairs.delete(pair);
    };
    const carry = (from: Socket, to: Socket, isResponse: boolean): void => {
      from.on("data", async (chunk: Buffer) => {
        if (network.delayMs > 0) await Bun.sleep(network.delayMs);
        if (pair.isLost || network.isLost || (isResponse && network.losesResponses)) return;
        if (isResponse && network.cutResponses) {
          to.write(chunk.subarray(0, chunk.length / 2), end);
          return;
        }
        to.write(chunk);
      });
      from.on("error", () => {}).on("close", end);
    };
    carry(near, far, false);
    carry(far, near, true);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const destroyAll = (): void => {
    for (const { near, far } of pairs) {
      near.destroy();
      far.destroy();
    }
    pairs.clear();
  };
  const network: Network = {
    port: (server.address() as { port: number }).port,
    delayMs: 0,
    cutResponses: false,
    losesResponses: false,
    isLost: false,
    loseExisting: () => {
      for (const pair of pairs) pair.isLost = true;
    },
    endLost: () => {
      for (const pair of pairs) {
        if (!pair.isLost) continue;
        pair.near.destroy();
        pair.far.destroy();
        pairs.delete(pair);
      }
    },
    cut: destroyAll,
    close: () => {
      destroyAll();
      server.close();
    },
  };
  return network;
};
