/** Waits with a time limit. After the limit, the error names the awaited condition. */

/** Below the time limit of most tests, which is 60 seconds. */
const LIMIT_MS = 50_000;
const POLL_MS = 20;
/** How long the description of the state may take, after the limit. */
const STATE_MS = 2000;

export type Limit = {
  /** By default 50 seconds. */
  limitMs?: number | undefined;
  /** Describes the state after the limit for the error, such as the last value or the text of a page. */
  state?: string | (() => unknown);
};

const describe = async (state: () => unknown): Promise<string> => {
  const found = await Promise.race([
    Promise.try(state).catch((error) => `not readable: ${error}`),
    Bun.sleep(STATE_MS).then(() => "not readable in time"),
  ]);
  return typeof found === "string" ? found : Bun.inspect(found);
};

/** Returns what `work` returns. Throws after the limit; the message contains `name`. */
export const within = async <Result>(
  name: string,
  work: Promise<Result>,
  { limitMs = LIMIT_MS, state }: Limit = {},
): Promise<Result> => {
  // Created here, so that its stack names the caller.
  const error = new Error();
  const late = Promise.withResolvers<null>();
  const timer = setTimeout(late.resolve, limitMs, null);
  const done = await Promise.race([work.then((result) => ({ result })), late.promise]).finally(() =>
    clearTimeout(timer),
  );
  if (done !== null) return done.result;
  error.message = `Waited ${limitMs / 1000} s in vain for ${name}`;
  if (state !== undefined) error.message += `\nState: ${typeof state === "string" ? state : await describe(state)}`;
  throw error;
};

type Found<Value> = Exclude<NonNullable<Value>, false>;

/**
 * Waits until `find` returns a value other than null, undefined and false, and returns it. Throws when `find` throws,
 * and after the limit. `pollMs`: the pause between two calls.
 */
export const until = <Value>(
  find: () => Value | Promise<Value>,
  { pollMs = POLL_MS, ...limit }: Limit & { pollMs?: number } = {},
): Promise<Found<Value>> => {
  let isOver = false;
  const look = async (): Promise<Found<Value>> => {
    // Not after the limit, because the next test may use the same state.
    while (!isOver) {
      const found = await find();
      if (found !== null && found !== undefined && found !== false) return found as Found<Value>;
      await Bun.sleep(pollMs);
    }
    throw new Error("the wait is over");
  };
  return within(String(find), look(), limit).finally(() => {
    isOver = true;
  });
};
