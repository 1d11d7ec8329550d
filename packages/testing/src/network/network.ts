/** A network between two programs, and what can go wrong in it. */
import { connect, createServer, type Socket } from "node:net";

export type Network = {
  port: number;
  /** How long whatever is said takes to arrive, in milliseconds. */
  delayMs: number;
  /** Cuts each connection in the middle of the next answer of the server's. */
  cutAnswers: boolean;
  /** Loses all answers, without a word; what is asked arrives. */
  losesAnswers: boolean;
  /** Loses all that is said on connections that are there, without a word; new ones work. */
  loseThose(): void;
  /** Ends what has been lost, as the server does when its keep-alive goes unanswered. */
  forgetThose(): void;
  /** Loses all that is said, on new connections too. */
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
      // What is lost does not even say that it has gone.
      if (pair.isLost || network.isLost) return;
      near.destroy();
      far.destroy();
      pairs.delete(pair);
    };
    const carry = (from: Socket, to: Socket, isAnswer: boolean): void => {
      from.on("data", async (chunk: Buffer) => {
        if (network.delayMs > 0) await Bun.sleep(network.delayMs);
        if (pair.isLost || network.isLost || (isAnswer && network.losesAnswers)) return;
        if (isAnswer && network.cutAnswers) {
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
    cutAnswers: false,
    losesAnswers: false,
    isLost: false,
    loseThose: () => {
      for (const pair of pairs) pair.isLost = true;
    },
    forgetThose: () => {
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
