/** The limits of one request, as the database sees them. */

/** Whether the client has disconnected. Nobody reads the response then, so no further statement may be sent. */
export type IsAborted = () => boolean;

/** Records a tracing span of one piece of work that has ended. `startedAt` is on the clock of `performance.now()`. */
export type RecordSpan = (name: string, startedAt: number, error: unknown) => void;

export type RequestLimit = {
  /** In milliseconds, on the clock of `performance.now()`. It may be moved while the request runs. */
  deadline: number;
  recordSpan?: RecordSpan | undefined;
  /** Asked immediately before each statement is sent, however long the statement has waited. */
  isAborted?: IsAborted | undefined;
};

/** Does `work` and records its span, if the request is traced. */
export const withSpan = <Result>(
  name: string,
  { recordSpan }: RequestLimit,
  work: () => Promise<Result>,
): Promise<Result> => {
  if (!recordSpan) return work();
  const startedAt = performance.now();
  return work().then(
    (result) => {
      recordSpan(name, startedAt, undefined);
      return result;
    },
    (error: unknown) => {
      recordSpan(name, startedAt, error);
      throw error;
    },
  );
};
