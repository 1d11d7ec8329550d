/** Batches that a test composes. */
import type { Db } from "@realtime-avatar/db/connection/pool";

/** `db` with one batch, which contains every input of the same turn of the event loop. */
export const inOneBatch = <One extends Db>(db: One): One => {
  const inputs: unknown[] = [];
  let outputs: Promise<readonly unknown[]> | null = null;
  const batch: Db["batch"] = async (kind, input) => {
    const index = inputs.push(input) - 1;
    outputs ??= Promise.resolve().then(() => kind.run(db, inputs as never[]));
    return (await outputs)[index] as never;
  };
  return { ...db, batch };
};
