/** The last row of an incomplete file, with the cursor of the next file. */
const NOT_COMPLETE = /\r\n# NOT COMPLETE: [^,]*cursor=([\w-]+),*\r\n$/;

/**
 * The cursor of the next file, from the last row of a file after which more rows follow; null when the file is
 * complete.
 */
export const readNextCursor = async (file: Blob): Promise<string | null> =>
  NOT_COMPLETE.exec(await file.slice(-8000).text())?.[1] ?? null;
