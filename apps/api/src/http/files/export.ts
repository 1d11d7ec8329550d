/**
 * Lists as CSV files. A file is read in pages, by the statements of the list, and sent as a stream. Each page is read
 * when the connection has accepted the previous one. So a file of any length takes the memory of one page, and one
 * statement at a time. Before each page, the caller is authenticated again. If its key or session has ended, the
 * connection is reset, so that no client takes the part for the whole. A file that reaches a limit says so in its last
 * row.
 */
import type { AnyCaller } from "@realtime-avatar/db/callers/callers";
import { describeError } from "@realtime-avatar/db/connection/errors";
import type { Db } from "@realtime-avatar/db/connection/pool";
import type { IdPrefix } from "@realtime-avatar/domain/id";
import { csvRow, fileQuery, MAX_FILE_BYTES, MAX_FILE_ROWS, unfinishedRow } from "@realtime-avatar/domain/lists/csv";
import { type List, parseItems, type WrittenPage, writeCursor } from "@realtime-avatar/domain/page";
import { Problem } from "@realtime-avatar/domain/problem";
import type { TObject, TProperties } from "@sinclair/typebox";
import type { Dependencies } from "../../dependencies.ts";
import type { WriteRequest } from "../authenticate.ts";
import { toProblem } from "../problem.ts";
import { readQuery } from "../query.ts";
import { acceptsCoding, type ResponseHead } from "../response.ts";
import { createFileSender } from "./send-file.ts";

/** Rows of a page. A page blocks the process for about 5 ms. */
const PAGE_ROWS = 500;
/** How long pages are read for one file, in milliseconds. */
const MAX_FILE_MS = 5 * 60_000;
/**
 * Maximum number of files that one process sends at once. One tenant gets a quarter of them. Each file runs one
 * statement at a time.
 */
const MAX_OPEN = 8;

export const createExportSender = () => createFileSender({ maxOpen: MAX_OPEN });

/** The description of all operations that send a list as a file. */
export const CSV_DESCRIPTION = `CSV (RFC 4180) in UTF-8, newest first: a row for each item, and a column for each of its fields. Numbers are numbers, null is empty, lists and objects are JSON. A text that a spreadsheet would take for a formula begins with an apostrophe. A file ends after \`limit\` rows, 64 MiB or five minutes. If more rows follow, its last row says so: its first cell begins with \`# NOT COMPLETE\` and ends with the \`cursor\` of the next file. A connection that ends early is reset.`;

type FilePage = { filters: object; before: string | null; limit: number };

/** A list that can be sent as a file. */
export type Export<Page extends FilePage> = {
  /** The name of the file, without the environment and the day. */
  name: string;
  list: List<IdPrefix, TProperties>;
  /** The schema of an item: its fields are the columns. */
  item: TObject;
  /** The first page according to the query parameters, with the `limit` of the file. */
  pageOf: (parameters: object, now: Date) => Page;
  read: (db: Db, caller: AnyCaller, page: Page) => Promise<WrittenPage>;
};

/** The rows of the items of a page. */
const rowsOf = (columns: readonly string[], { items }: WrittenPage): { text: string; count: number } => {
  const rows = parseItems<Record<string, unknown>>({ items, next: null });
  return { text: rows.map((row) => csvRow(columns.map((name) => row[name]))).join(""), count: rows.length };
};

/** The text of the file in parts, each read on demand. `isOver`: whether the file must end after the current part. */
async function* textOf<Page extends FilePage>(
  { list, item, read }: Export<Page>,
  { db, requestContext, authenticateAgain }: WriteRequest,
  { page, first }: { page: Page; first: WrittenPage },
  progress: { rows: number },
  isOver: () => boolean,
): AsyncGenerator<string, "complete" | "not complete"> {
  const columns = Object.keys(item.properties);
  let bytes = 0;
  let part = csvRow(columns);
  for (let written = first; ; ) {
    const { text, count } = rowsOf(columns, written);
    part += text;
    bytes += Buffer.byteLength(part);
    progress.rows += count;
    const { next } = written;
    if (next === null) {
      yield part;
      return "complete";
    }
    if (progress.rows >= page.limit || bytes >= MAX_FILE_BYTES || isOver()) {
      yield part + unfinishedRow(columns, writeCursor(list.prefix, page.filters, next));
      return "not complete";
    }
    // The filters can exclude all rows of a page, but more pages can follow.
    if (part !== "") yield part;
    part = "";
    requestContext.deadline = performance.now() + db.deadlineMs;
    const { caller } = await authenticateAgain();
    const limit = Math.min(PAGE_ROWS, page.limit - progress.rows);
    written = await read(db, caller, { ...page, before: next, limit });
  }
}

/** Passes the parts on, and logs how the file ends. The log line of its request is written at its start. */
async function* logged(
  parts: AsyncGenerator<string, string>,
  { dependencies: { log }, requestContext }: WriteRequest,
  name: string,
  progress: { rows: number },
): AsyncGenerator<string, void> {
  const { requestId, startedAt } = requestContext;
  let outcome = "disconnected";
  let failure: unknown;
  try {
    for (;;) {
      const { done, value } = await parts.next();
      if (done) {
        outcome = value;
        return;
      }
      yield value;
    }
  } catch (error) {
    // No statement is sent for a disconnected client.
    if (!requestContext.isAborted()) outcome = toProblem(error).code;
    if (!requestContext.isAborted() && !(error instanceof Problem)) failure = error;
    throw error;
  } finally {
    const durationMs = Math.round(performance.now() - startedAt);
    const line = { requestId, name, rows: progress.rows, outcome, durationMs };
    if (failure === undefined) log.info(line, "export");
    else log.error({ ...line, error: describeError(failure) }, "export");
  }
}

const ENCODER = new TextEncoder();

/** A stream of the parts, which reads them on demand. A disconnected client ends it. */
export const streamParts = (parts: AsyncGenerator<string, void>): ReadableStream<Uint8Array> =>
  new ReadableStream(
    {
      async pull(controller) {
        const { done, value } = await parts.next();
        if (done) controller.close();
        else controller.enqueue(ENCODER.encode(value));
      },
      cancel: () => void parts.return().catch(() => {}),
    },
    { highWaterMark: 0 },
  );

/**
 * The stream, compressed if the client accepts it. Compression reads one part ahead, so the memory is that of a few
 * parts. Errors and disconnections pass through.
 */
export const encodedFor = (stream: ReadableStream<Uint8Array>, isCompressed: boolean): ReadableStream<Uint8Array> =>
  isCompressed
    ? stream.pipeThrough(new CompressionStream("gzip") as ReadableWritablePair<Uint8Array, Uint8Array>)
    : stream;

/** The handler that sends a list as a file. */
export const exportHandler = <Page extends FilePage>(
  { clock, exportSender, isEnding }: Pick<Dependencies, "clock" | "exportSender" | "isEnding">,
  exported: Export<Page>,
) => {
  const query = fileQuery(exported.list);
  // Elysia prepares only the named parameters.
  return async ({ write, set }: { write: WriteRequest; set: ResponseHead }): Promise<Response> => {
    const { caller, db, request } = write;
    const now = clock();
    const page = exported.pageOf({ limit: MAX_FILE_ROWS, ...readQuery(request, query) }, now);
    const { name } = exported;
    const isCompressed = acceptsCoding(request, "gzip");
    const respond = (body: ReadableStream | null): Response => {
      const file = `${name}-${caller.environment}-${now.toISOString().slice(0, 10)}.csv`;
      const headers = {
        ...(set.headers as Record<string, string>),
        "content-type": "text/csv; charset=utf-8; header=present",
        "content-disposition": `attachment; filename="${file}"`,
        vary: "Accept-Encoding",
        ...(isCompressed && { "content-encoding": "gzip" }),
        // Without this header, the response to a HEAD request would have a length of 0.
        ...(body === null && { "transfer-encoding": "chunked" }),
      };
      // Empty, because Elysia would copy the response header by header to add the headers of `set`.
      set.headers = {};
      return new Response(body, { headers });
    };
    // For a HEAD request, Elysia would read the stream to find its length.
    if (request.method === "HEAD") return respond(null);
    const over = performance.now() + MAX_FILE_MS;
    const isOver = (): boolean => performance.now() >= over || isEnding();
    const stream = await exportSender.open(
      { client: caller.tenantId, file: `${caller.tenantId} ${name}` },
      async () => {
        // The first part is read before the response begins, so that a failure becomes a problem.
        const first = await exported.read(db, caller, { ...page, limit: Math.min(PAGE_ROWS, page.limit) });
        const progress = { rows: 0 };
        const parts = textOf(exported, write, { page, first }, progress, isOver);
        return { stream: encodedFor(streamParts(logged(parts, write, name, progress)), isCompressed) };
      },
    );
    return respond(stream);
  };
};
