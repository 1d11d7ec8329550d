/** The limits of one request for its statements. */

/** Whether the client has disconnected. Then the response cannot be delivered, and no further statement may be sent. */
export type IsAborted = () => boolean;

/**
 * Records a tracing span of one piece of work that has ended. `startedAt` is on the clock of `performance.now()`.
 * `attributes`: set for work that is not a statement.
 */
export type RecordSpan = (
  name: string,
  startedAt: number,
  error: unknown,
  attributes?: Readonly<Record<string, string>>,
) => void;

export type RequestLimit = {
  /** In milliseconds, on the clock of `performance.now()`. It may be moved while the request runs. */
  deadline: number;
  recordSpan?: RecordSpan | undefined;
  /** Called immediately before each statement is sent, after any wait in a queue. */
  isAborted?: IsAborted | undefined;
};

/** Runs `work`. Records its span if the request is traced. */
export const withSpan = async <Result>(
  name: string,
  { recordSpan }: RequestLimit,
  work: () => Promise<Result>,
  attributes?: Parameters<RecordSpan>[3],
): Promise<Result> => {
  if (!recordSpan) return work();
  const startedAt = performance.now();
  let failure: unknown;
  try {
    return await work();
  } catch (error) {
    failure = error;
    throw error;
  } finally {
    recordSpan(name, startedAt, failure, attributes);
  }
};
