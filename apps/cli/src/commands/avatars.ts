/** `avatars`: the avatars of a tenant, in both environments. */

import { findAvatar } from "@realtime-avatar/db/avatars/avatars";
import { listAvatars } from "@realtime-avatar/db/avatars/list";
import type { Db } from "@realtime-avatar/db/connection/pool";
import { type AvatarRecord, presentAvatar } from "@realtime-avatar/domain/avatars/avatar";
import { type Check, REQUIREMENTS } from "@realtime-avatar/domain/avatars/checks";
import { AVATAR_LIST, type Avatar } from "@realtime-avatar/domain/avatars/schemas";
import { SOURCE_KINDS } from "@realtime-avatar/domain/avatars/source-kind";
import { ENVIRONMENTS } from "@realtime-avatar/domain/environment";
import type { Id, TenantId } from "@realtime-avatar/domain/id";
import type { Command } from "commander";
import { withDatabase } from "../database.ts";
import {
  idParser,
  type OutputOptions,
  type SearchOptions,
  type TenantOptions,
  withOutputOptions,
  withSearchOptions,
  withTenantOptions,
} from "../options.ts";
import { mergePages, pageRequest, printPage } from "../pages.ts";
import { type Columns, fields, print, table, UsageError } from "../terminal.ts";
import { prepareAll, startPreparation } from "./avatars-prepare.ts";

/** The command line does not know the address of the service, so it prints a preview as its path. */
const NO_ORIGIN = "";

const COLUMNS: Columns<Avatar> = {
  ID: ({ id }) => id,
  ENVIRONMENT: ({ environment }) => environment,
  STATUS: ({ status }) => status,
  SOURCE: ({ sourceKind }) => sourceKind,
  MODEL: ({ modelId }) => modelId,
  UPDATED: ({ updatedAt }) => updatedAt,
  NAME: ({ displayName }) => displayName,
  ERROR: ({ error }) => error,
};

const numberText = (value: number | null): string | null => (value === null ? null : String(value));

/** The unit of a measured value and its limit. */
const unitOf = ({ code, measured }: Check): string | null => {
  if (measured === null) return null;
  return SOURCE_KINDS.flatMap((kind) => REQUIREMENTS[kind]).find((one) => one.code === code)?.unit ?? null;
};

const CHECKS: Columns<Check> = {
  CHECK: ({ code }) => code,
  VERDICT: ({ verdict }) => verdict,
  MEASURED: ({ measured }) => numberText(measured),
  LIMIT: ({ limit }) => numberText(limit),
  UNIT: unitOf,
  DETAIL: ({ detail }) => detail,
};

const list = async (options: SearchOptions & { status?: string; sourceKind?: string }): Promise<void> => {
  const { tenant: tenantId, status, sourceKind, name, from, to, limit, cursor } = options;
  const request = pageRequest(AVATAR_LIST, { status, sourceKind, name, from, to, limit, cursor });
  await withDatabase(tenantId, async (db) => {
    const pages = ENVIRONMENTS.map((environment) => listAvatars(db, { tenantId, environment }, request, NO_ORIGIN));
    const written = mergePages(await Promise.all(pages), request.limit);
    printPage(options, { list: AVATAR_LIST, request, written }, COLUMNS, "No matching avatars.");
  });
};

/** The avatar in either environment. Throws when the tenant has no avatar with this id. */
const find = async (db: Db, tenantId: TenantId, id: Id<"ava">): Promise<AvatarRecord> => {
  const records = ENVIRONMENTS.map((environment) => findAvatar(db, { tenantId, environment }, id));
  const record = (await Promise.all(records)).find((avatar) => avatar !== null);
  if (!record) throw new Error("The tenant has no avatar with this id.");
  return record;
};

/** Prints an avatar, and below it the checks of its latest preparation. */
const printAvatar = (options: TenantOptions, record: AvatarRecord): void => {
  const avatar = presentAvatar(record, NO_ORIGIN);
  const { checks, ...others } = avatar;
  print(options, avatar, [fields(others), ...(checks.length > 0 ? ["", table(CHECKS, checks)] : [])].join("\n"));
};

const show = (id: Id<"ava">, options: TenantOptions): Promise<void> =>
  withDatabase(options.tenant, async (db) => printAvatar(options, await find(db, options.tenant, id)));

const prepareOne = (id: Id<"ava">, options: TenantOptions): Promise<void> =>
  withDatabase(options.tenant, async (db) =>
    printAvatar(options, await startPreparation(db, () => find(db, options.tenant, id))),
  );

type PrepareOptions = OutputOptions & { tenant?: TenantId; all?: boolean };

const prepare = async (id: Id<"ava"> | undefined, { all, ...options }: PrepareOptions): Promise<void> => {
  if ((id === undefined) === (all !== true)) throw new UsageError("Give either the id of an avatar, or --all.");
  if (id === undefined) return prepareAll(options);
  const { tenant } = options;
  if (!tenant) throw new UsageError("--tenant: The tenant of the avatar is missing.");
  await prepareOne(id, { ...options, tenant });
};

export const addAvatars = (program: Command): void => {
  const avatars = program.command("avatars").description("inspect avatars, and prepare them again");

  withSearchOptions(avatars.command("list"))
    .description("list the avatars of a tenant, newest first")
    .option("--status <status>", "filter by status; deleted avatars are listed only with --status deleted")
    .option("--source-kind <kind>", "image or video")
    .action(list);

  withTenantOptions(avatars.command("show"))
    .description("show an avatar (ava_…), and the checks of its latest preparation")
    .argument("<id>", "", idParser("ava", "<id>"))
    .action(show);

  withOutputOptions(avatars.command("prepare"))
    .description(
      "prepare an avatar (ava_…) again, from the same source; with --all, every ready one that has no face yet",
    )
    .argument("[id]", "", idParser("ava", "[id]"))
    .option("--tenant <id>", "tenant id (ten_…); with --all, this tenant only", idParser("ten", "--tenant"))
    .option("--all", "prepare the ready avatars whose preparation is from a release without faces, and wait for them")
    .action(prepare);
};
