/**
 * The whole API in a first version, with Elysia and `postgres`, as the reference of the benchmark. For each request it
 * runs one SELECT of the key or the person, then the statements of the work, in a transaction if several of them write.
 */
import { Elysia } from "elysia";
import postgres from "postgres";
import { callRoutes } from "./calls.ts";
import { creditRoutes } from "./credits.ts";
import { resourceRoutes } from "./resources.ts";

/** `folder`: where files of assets are written. No I/O before the first request. */
export const firstServer = (databaseUrl: string, folder: string, livekitUrl: string) => {
  // Transactions have separate connections. On a connection with statements in flight, the driver may send BEGIN
  // without reserving the connection, and two transactions mix ("there is already a transaction in progress").
  const sql = Object.assign(postgres(databaseUrl), { begin: postgres(databaseUrl).begin });
  return new Elysia().use(resourceRoutes(sql, folder)).use(creditRoutes(sql)).use(callRoutes(sql, livekitUrl));
};
