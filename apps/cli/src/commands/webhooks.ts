/** `webhooks`: the endpoints of all tenants, and the operator's actions on one. */

import { createClient } from "@realtime-avatar/client";
import { forwardedLine, listen, listeningMessage, type WebhookSelection } from "@realtime-avatar/client/listen";
import type { Db } from "@realtime-avatar/db/connection/pool";
import type { Databases } from "@realtime-avatar/db/databases/databases";
import { recoverDeliveries } from "@realtime-avatar/db/webhooks/deliveries";
import { disableEndpoint, findEndpoint, listEndpoints } from "@realtime-avatar/db/webhooks/endpoints";
import { parseDateTime } from "@realtime-avatar/domain/date-time";
import type { TenantId, WebhookEndpointId } from "@realtime-avatar/domain/id";
import { parseItems } from "@realtime-avatar/domain/page";
import { presentWebhookEndpoint, type WebhookEndpointRecord } from "@realtime-avatar/domain/webhooks/endpoint";
import { recoveredSince } from "@realtime-avatar/domain/webhooks/schedule";
import { DELIVERY_DAYS, MAX_ENDPOINTS, type WebhookEndpoint } from "@realtime-avatar/domain/webhooks/schemas";
import type { Command } from "commander";
import { listOwners, operatorOrigin, withDatabases } from "../database.ts";
import { idParser, type OutputOptions, withOutputOptions } from "../options.ts";
import { type Columns, fields, print, table, UsageError } from "../terminal.ts";

type TenantOption = OutputOptions & { tenant?: TenantId };

const COLUMNS: Columns<WebhookEndpoint> = {
  TENANT: ({ tenantId }) => tenantId,
  ENDPOINT: ({ id }) => id,
  ENVIRONMENT: ({ environment }) => environment,
  STATUS: ({ status, disabledReason }) => (disabledReason ? `${status} (${disabledReason})` : status),
  "FAILING SINCE": ({ failingSince }) => failingSince,
  URL: ({ url }) => url,
};

const list = (options: TenantOption & { disabled?: boolean }): Promise<void> =>
  withDatabases(async (databases) => {
    const data: WebhookEndpoint[] = [];
    for (const [db, owner] of await listOwners(databases, options.tenant)) {
      const page = await listEndpoints(db, owner, { before: null, limit: MAX_ENDPOINTS });
      data.push(
        ...parseItems<WebhookEndpoint>(page).filter(({ status }) => !options.disabled || status === "disabled"),
      );
    }
    print(options, { data }, data.length > 0 ? table(COLUMNS, data) : "No webhook endpoints.");
  }, options.tenant);

/** The endpoint, and the database that has it. */
const find = async (
  databases: Databases,
  id: WebhookEndpointId,
  tenant: TenantId | undefined,
): Promise<{ db: Db; endpoint: WebhookEndpointRecord }> => {
  for (const [db, owner] of await listOwners(databases, tenant)) {
    const endpoint = await findEndpoint(db, owner, id);
    if (endpoint) return { db, endpoint };
  }
  throw new Error("There is no webhook endpoint with this id.");
};

const disable = (id: WebhookEndpointId, options: TenantOption): Promise<void> =>
  withDatabases(async (databases) => {
    const { db, endpoint: found } = await find(databases, id, options.tenant);
    const outcome = await disableEndpoint(db, found.tenantId, id, operatorOrigin());
    if (outcome.kind === "not_found") throw new Error("There is no webhook endpoint with this id.");
    const endpoint = presentWebhookEndpoint(outcome.endpoint);
    print(options, endpoint, fields(endpoint));
  }, options.tenant);

/** Parses the time since which deliveries are sent again. */
const parseSince = (text: string): Date => {
  if (parseDateTime(text) === null) throw new UsageError("--since: Must be a date-time such as 2026-11-20T12:00:00Z.");
  return recoveredSince(text, new Date());
};

const recover = (id: WebhookEndpointId, options: TenantOption & { since: Date }): Promise<void> =>
  withDatabases(async (databases) => {
    const { db, endpoint } = await find(databases, id, options.tenant);
    const { tenantId, environment, status } = endpoint;
    const outcome = await recoverDeliveries(db, id, options.since, { tenantId, environment }, operatorOrigin());
    if (outcome.kind !== "written") throw new Error("There is no webhook endpoint with this id.");
    const { recovered, pausedUntil } = outcome;
    const ofDisabled = status === "disabled" ? " The endpoint is disabled: enable it first, and recover it then." : "";
    const ofPause = pausedUntil === null ? "" : ` The host fails: the next one is tried at ${pausedUntil}.`;
    print(options, { recovered, pausedUntil }, `Sent again: ${recovered}.${ofPause}${ofDisabled}`);
  }, options.tenant);

/** Forwards the events of a tenant, with a key of the tenant. It is the only command that calls the API. */
const listenAt = async (options: { forwardTo: string; url: string; events?: string[] }): Promise<void> => {
  const { forwardTo, events } = options;
  if (!URL.canParse(forwardTo))
    throw new UsageError("--forward-to: Must be a URL such as http://localhost:4000/hooks.");
  const ending = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => ending.abort());
  await listen({
    client: createClient({ baseUrl: options.url, apiKey: process.env["API_KEY"] ?? "" }),
    forwardTo,
    ...(events && { events: events as WebhookSelection }),
    signal: ending.signal,
    onReady: (secret) => process.stderr.write(listeningMessage(forwardTo, secret)),
    onForwarded: (event) => process.stdout.write(forwardedLine(event)),
  });
};

export const addWebhooks = (program: Command): void => {
  const tenant = (command: Command): Command =>
    withOutputOptions(command.option("--tenant <id>", "only of this tenant (ten_…)", idParser("ten", "--tenant")));
  const endpoint = (command: Command): Command => tenant(command).argument("<id>", "", idParser("whe", "<id>"));

  const webhooks = program.command("webhooks").description("see webhook endpoints, disable them, recover deliveries");
  tenant(webhooks.command("list"))
    .description("list the webhook endpoints of all tenants")
    .option("--disabled", "only those that are disabled")
    .action(list);

  webhooks
    .command("listen")
    .description("forward the events of the tenant of API_KEY, a key with the scope *, to a program on this machine")
    .requiredOption("--forward-to <url>", "where the events go, such as http://localhost:4000/hooks")
    .option("--url <url>", "the service", "http://127.0.0.1:3000")
    .option("--events <types>", "event types or groups, separated by commas (default: all)", (text) => text.split(","))
    .action(listenAt);

  endpoint(webhooks.command("disable"))
    .description("disable a webhook endpoint (whe_…): nothing more is sent to it until its owner enables it")
    .action(disable);

  endpoint(webhooks.command("recover"))
    .description(
      "send again the deliveries of an endpoint (whe_…) that failed, were canceled or wait for another attempt since a time",
    )
    .requiredOption("--since <time>", `date-time, at most ${DELIVERY_DAYS} days ago`, parseSince)
    .action(recover);
};
