/** Reads values of a source ahead of a slow reader. */

/**
 * Yields the values of `source`, and reads them as fast as they come. The caller bounds their number. The source ends
 * when the caller stops iterating.
 */
export async function* readAhead<Value>(source: AsyncGenerator<Value>): AsyncGenerator<Value> {
  const values: Value[] = [];
  let isOver = false;
  let isLeft = false;
  let failure: { error: unknown } | null = null;
  let wake = (): void => {};
  const read = async (): Promise<void> => {
    try {
      for await (const value of source) {
        if (isLeft) return;
        values.push(value);
        wake();
      }
    } catch (error) {
      failure = { error };
    } finally {
      isOver = true;
      wake();
    }
  };
  void read();
  try {
    for (;;) {
      const value = values.shift();
      if (value !== undefined) yield value;
      else if (failure !== null) throw (failure as { error: unknown }).error;
      else if (isOver) return;
      else
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
    }
  } finally {
    isLeft = true;
  }
}
