/** The handlers of lists. */
import type { AnyCaller } from "@realtime-avatar/db/callers/callers";
import type { Db } from "@realtime-avatar/db/connection/pool";
import type { IdPrefix } from "@realtime-avatar/domain/id";
import {
  type List,
  type PageRequest,
  pageText,
  readPage,
  type Total,
  type WrittenPage,
} from "@realtime-avatar/domain/page";
import type { TProperties } from "@sinclair/typebox";
import type { Dependencies } from "../dependencies.ts";
import { isPerson } from "./person.ts";
import { readQuery } from "./query.ts";
import { acceptsCoding, type ResponseHead } from "./response.ts";

/** The parts of a request that the handler of a read uses. */
type Reading = { caller: AnyCaller; db: Db; request: Request; set: ResponseHead };

/**
 * A shorter text is sent quickly without compression. Compressing a longer one would block other requests for more than
 * a millisecond.
 */
const [MIN_COMPRESSED, MAX_COMPRESSED] = [1024, 64 * 1024];

/**
 * A compressed page for the dashboard: 20 keys take 1 KB instead of 14 KB, which saves a quarter of a second at 400
 * kbit/s. Only for people: pages of other sites cannot send their cookie, so they cannot measure compressed sizes
 * (BREACH).
 */
const compressed = (parts: readonly string[], set: ResponseHead): Uint8Array<ArrayBuffer> => {
  const headers = set.headers as Record<string, string>;
  headers["content-type"] = "application/json";
  headers["content-encoding"] = "gzip";
  headers["vary"] = "Accept-Encoding";
  return Bun.gzipSync(parts.join(""));
};

/** Counts the items that match the filters of a list. */
type Counting<OfList> = (
  reading: Pick<Reading, "caller" | "db">,
  filters: PageRequest<OfList> extends { filters: infer Filters } ? Filters : never,
) => Promise<Total>;

/**
 * The handler of a list. `requestOf`: reads the parameters of the page. `read`: finds the page. `count`: counts all
 * items, for a list with `hasTotal`.
 */
export const listHandler =
  <Prefix extends IdPrefix, Filters extends TProperties>(
    { responseBytes }: Pick<Dependencies, "responseBytes">,
    list: List<Prefix, Filters>,
    read: (reading: Pick<Reading, "caller" | "db">, page: PageRequest<List<Prefix, Filters>>) => Promise<WrittenPage>,
    requestOf: (
      list: List<Prefix, Filters>,
      parameters: Readonly<Record<string, unknown>>,
    ) => PageRequest<List<Prefix, Filters>> = readPage,
    count: Counting<List<Prefix, Filters>> | null = null,
  ) =>
  // Elysia prepares only the named parameters.
  async ({ caller, db, request, set }: Reading) => {
    const parameters = readQuery(request, list.query);
    const page = requestOf(list, parameters);
    const reading = { caller, db };
    const [written, total] = await Promise.all([
      read(reading, page),
      count !== null && "total" in parameters ? count(reading, page.filters) : null,
    ]);
    const text = pageText(list, page, written, total === null ? {} : { total });
    const length = text.reduce((sum, part) => sum + part.length, 0);
    if (isPerson(caller) && length >= MIN_COMPRESSED && length <= MAX_COMPRESSED && acceptsCoding(request, "gzip")) {
      return compressed(text, set);
    }
    return responseBytes.send(text, caller.tenantId, request, set);
  };
