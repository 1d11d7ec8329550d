/** The handlers of lists. */
import type { AnyCaller } from "@realtime-avatar/db/api-keys/callers";
import type { Db } from "@realtime-avatar/db/connection/pool";
import type { IdPrefix } from "@realtime-avatar/domain/id";
import { type List, type PageRequest, pageText, readPage, type WrittenPage } from "@realtime-avatar/domain/page";
import type { TProperties } from "@sinclair/typebox";
import type { Dependencies } from "../dependencies.ts";
import { readQuery } from "./query.ts";
import type { ResponseHead } from "./response.ts";

/** What the handler of a read needs of its request. */
type Reading = { caller: AnyCaller; db: Db; request: Request; set: ResponseHead };

/** The handler of a list: reads the parameters of the page by `requestOf`, and sends what `read` finds. */
export const listHandler =
  <Prefix extends IdPrefix, Filters extends TProperties>(
    { responseBytes }: Pick<Dependencies, "responseBytes">,
    list: List<Prefix, Filters>,
    read: (reading: Pick<Reading, "caller" | "db">, page: PageRequest<List<Prefix, Filters>>) => Promise<WrittenPage>,
    requestOf: typeof readPage = readPage,
  ) =>
  // Elysia prepares what the parameters name, and no more.
  async ({ caller, db, request, set }: Reading) => {
    const page = requestOf(list, readQuery(request, list.query));
    const text = pageText(list, page, await read({ caller, db }, page));
    return responseBytes.send(text, caller.tenantId, request, set);
  };
