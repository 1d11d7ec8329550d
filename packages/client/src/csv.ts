/** The last row of a file that is not whole, and the cursor of the next file in it. */
const NOT_COMPLETE = /\r\n# NOT COMPLETE: [^,]*cursor=([\w-]+),*\r\n$/;

/** The cursor of the next file, which the last row of a file names when more rows follow; null when the file is whole. */
export const readNextCursor = async (file: Blob): Promise<string | null> =>
  NOT_COMPLETE.exec(await file.slice(-8000).text())?.[1] ?? null;
