/** `avatars prepare`: prepares one avatar again, or all avatars that a release without faces has prepared. */
import { findAvatar, prepareAvatar } from "@realtime-avatar/db/avatars/avatars";
import { listAvatars } from "@realtime-avatar/db/avatars/list";
import type { Db } from "@realtime-avatar/db/connection/pool";
import { retryWhileStale } from "@realtime-avatar/db/query/retry-while-stale";
import { type AvatarRecord, preparedAgain } from "@realtime-avatar/domain/avatars/avatar";
import { REQUIREMENTS } from "@realtime-avatar/domain/avatars/checks";
import { AVATAR_LIST, type Avatar } from "@realtime-avatar/domain/avatars/schemas";
import { type AvatarId, newId, type TenantId } from "@realtime-avatar/domain/id";
import { parseItems, type WrittenPage } from "@realtime-avatar/domain/page";
import { Problem } from "@realtime-avatar/domain/problem";
import { secureRandom as random } from "@realtime-avatar/runtime/random";
import { listOwners, type Owner, operatorOrigin, withDatabases } from "../database.ts";
import type { OutputOptions } from "../options.ts";
import { pageRequest } from "../pages.ts";
import { type Columns, print, table } from "../terminal.ts";

/** Starts a preparation of an avatar, and returns the avatar. Throws the reason why it cannot be prepared. */
export const startPreparation = async (db: Db, find: () => Promise<AvatarRecord>): Promise<AvatarRecord> => {
  const { avatar } = await retryWhileStale(async () => {
    const origin = operatorOrigin();
    const before = await find();
    const { id, version, tenantId, environment } = before;
    // Throws a problem with the reason when the avatar cannot be prepared.
    preparedAgain(before, origin.now);
    const jobId = newId("job", origin.now, random);
    const outcome = await prepareAvatar(db, id, version, jobId, { tenantId, environment }, origin);
    // Another write was first, so the avatar is read again.
    return outcome.kind === "written" ? outcome : ({ kind: "stale" } as const);
  });
  return avatar;
};

/** null when the avatar was deleted since the list was read, or can no longer be prepared. */
const startUnlessGone = async (db: Db, owner: Owner, id: AvatarId): Promise<AvatarRecord | null> => {
  const find = async (): Promise<AvatarRecord> => {
    const record = await findAvatar(db, owner, id);
    if (record === null) throw new Problem("not_found", "The avatar was deleted.");
    return record;
  };
  try {
    return await startPreparation(db, find);
  } catch (error) {
    if (error instanceof Problem) return null;
    throw error;
  }
};

/**
 * The recommended bounds of the yaw in releases with faces. Earlier releases had only the limits of the requirement.
 */
const RECOMMENDED_YAW: readonly (number | null)[] =
  REQUIREMENTS.image.find(({ code }) => code === "face_yaw")?.recommended ?? [];

/** Whether an avatar can get a face: a release that stored no faces has prepared it from a source with a face. */
const lacksFace = ({ sourceAssetId, checks }: Avatar): boolean =>
  sourceAssetId !== null && checks.some(({ code, limit }) => code === "face_yaw" && !RECOMMENDED_YAW.includes(limit));

const PAGE = 100;

/** The ready avatars of an owner that have no face, newest first. */
async function* withoutFace(db: Db, owner: Owner): AsyncGenerator<AvatarId> {
  for (let before: AvatarId | null = null; ; ) {
    const request = { ...pageRequest(AVATAR_LIST, { status: "ready", limit: PAGE }), before };
    const page: WrittenPage = await listAvatars(db, owner, request, "");
    for (const avatar of parseItems<Avatar>(page)) if (lacksFace(avatar)) yield avatar.id as AvatarId;
    before = page.next as AvatarId | null;
    if (before === null) return;
  }
}

/**
 * Maximum number of concurrent preparations, so that preparations that tenants request do not wait behind all of these.
 */
const AT_ONCE = 10;
const POLL_MS = 500;

/** A started preparation, and the avatar as it was when the preparation started. */
type Waiting = { db: Db; owner: Owner; started: AvatarRecord };
type Failure = { tenantId: TenantId; id: AvatarId; error: string };
type Progress = { prepared: number; failures: Failure[] };

/** Whether the preparation is unfinished: it has no result, and was neither canceled nor replaced. */
const isUnderWay = (current: AvatarRecord, started: AvatarRecord): boolean =>
  // Removing the source or deleting the avatar cancels the preparation. Another start replaces it.
  current.sourceAssetId !== null &&
  current.status !== "deleted" &&
  current.generation === started.generation &&
  current.cacheVersion === started.cacheVersion &&
  current.error === null;

/** Removes the preparations that have ended from `waiting`, and counts their results. A canceled one has no result. */
const settle = async (waiting: Waiting[], progress: Progress): Promise<void> => {
  const records = await Promise.all(waiting.map(({ db, owner, started }) => findAvatar(db, owner, started.id)));
  for (const [index, record] of [...records.entries()].reverse()) {
    const { owner, started } = waiting[index] as Waiting;
    if (record !== null && isUnderWay(record, started)) continue;
    waiting.splice(index, 1);
    if (record === null) continue;
    if (record.error !== null) progress.failures.push({ tenantId: owner.tenantId, id: record.id, error: record.error });
    else if (record.cacheVersion > started.cacheVersion) progress.prepared += 1;
  }
};

const FAILURES: Columns<Failure> = {
  TENANT: ({ tenantId }) => tenantId,
  AVATAR: ({ id }) => id,
  ERROR: ({ error }) => error,
};

const summary = ({ prepared, failures }: Progress): string => `${prepared} prepared, ${failures.length} failed`;

/** Waits until fewer than `count` preparations are unfinished. Prints on standard error how many have ended. */
const waitForFewer = async (count: number, waiting: Waiting[], progress: Progress): Promise<void> => {
  while (waiting.length >= count) {
    await Bun.sleep(POLL_MS);
    const before = waiting.length;
    await settle(waiting, progress);
    if (waiting.length < before) console.error(`${summary(progress)}, ${waiting.length} under way`);
  }
};

/**
 * Prepares the ready avatars without a face, of one tenant or of all. If it is stopped early, the next run continues
 * with the rest.
 */
export const prepareAll = (options: OutputOptions & { tenant?: TenantId }): Promise<void> =>
  withDatabases(async (databases) => {
    const progress: Progress = { prepared: 0, failures: [] };
    const waiting: Waiting[] = [];
    for (const [db, owner] of await listOwners(databases, options.tenant)) {
      for await (const id of withoutFace(db, owner)) {
        await waitForFewer(AT_ONCE, waiting, progress);
        const started = await startUnlessGone(db, owner, id);
        if (started !== null) waiting.push({ db, owner, started });
      }
    }
    await waitForFewer(1, waiting, progress);
    const { failures } = progress;
    const text = `${summary(progress)}.`;
    print(options, progress, failures.length === 0 ? text : `${table(FAILURES, failures)}\n${text}`);
    if (failures.length > 0) process.exitCode = 1;
  }, options.tenant);
