/**
 * The folders of the store (`assets/asset.ts`, `avatars/preparation.ts` and `recordings/files.ts` of the domain), and which of their
 * files are needed.
 */

import { existingAssets, type StoredAsset } from "@realtime-avatar/db/assets/assets";
import { knownPreparations } from "@realtime-avatar/db/avatars/preparations";
import type { Runner } from "@realtime-avatar/db/connection/batch";
import { namedRecordingFiles } from "@realtime-avatar/db/recordings/stored";
import { PREPARED_FOLDER } from "@realtime-avatar/domain/avatars/preparation";
import {
  type AssetId,
  type AvatarId,
  ID_CHARACTERS,
  ID_SUFFIX_LENGTH,
  type SessionId,
  type TenantId,
} from "@realtime-avatar/domain/id";
import { RECORDINGS_FOLDER } from "@realtime-avatar/domain/recordings/files";

/** The classification of files by the database. */
export type Sorted = {
  /** The keys of unneeded files. */
  unused: string[];
  /** How many of them belong to no row of this database. The store may belong to another database. */
  unknown: number;
};

/** The tenant of a key for which `hasKey` of a folder is true. */
export const keyTenant = (key: string): TenantId => key.split("/")[1] as TenantId;

export type Folder = {
  name: string;
  /** The age from which an unneeded file is removed. */
  minAgeMs: number;
  /** Whether a file of the service can have this key, because another program may use the same bucket. */
  hasKey(key: string): boolean;
  /** Sorts keys for which `hasKey` is true. One statement. */
  sort(db: Runner, keys: readonly string[]): Promise<Sorted>;
};

const SUFFIX = `${ID_CHARACTERS[0]}${ID_CHARACTERS[1]}{${ID_SUFFIX_LENGTH - 1}}`;
const ASSET_KEY = new RegExp(`^[a-z]+/(ten_${SUFFIX})/(ast_${SUFFIX})$`);
const PREPARED_KEY = new RegExp(
  `^${PREPARED_FOLDER}/(ten_${SUFFIX})/(ava_${SUFFIX})/([1-9]\\d{0,8})/[0-9a-f]{64}-(?:webp|json|loop)$`,
);
const RECORDING_KEY = new RegExp(
  `^${RECORDINGS_FOLDER}/(ten_${SUFFIX})/(ses_${SUFFIX})/(?:(\\d{1,9})-(\\d{1,9})|rec_${SUFFIX}-\\d{1,9})$`,
);

const HOUR_MS = 3_600_000;
/** For files that are written before their row. The row follows within the deadline of its request. */
const DAY_MS = 24 * HOUR_MS;

/**
 * A folder with a file for each asset. `isNeeded`: whether an asset that is neither failed nor deleted needs its file.
 */
const assetFolder = (name: string, isNeeded: (asset: StoredAsset) => boolean): Folder => ({
  name,
  minAgeMs: DAY_MS,
  hasKey: (key) => ASSET_KEY.test(key),
  sort: async (db, keys) => {
    const files = keys.map((key) => {
      const [, tenantId, id] = ASSET_KEY.exec(key) ?? [];
      return { key, tenantId: tenantId as TenantId, id: id as AssetId };
    });
    const neededIds = new Set((await existingAssets(db, files)).filter(isNeeded).map(({ id }) => id));
    const unused = files.filter(({ id }) => !neededIds.has(id)).map(({ key }) => key);
    return { unused, unknown: unused.length };
  },
});

/** The prepared files of avatars. */
const preparedFolder: Folder = {
  name: PREPARED_FOLDER,
  minAgeMs: DAY_MS,
  hasKey: (key) => PREPARED_KEY.test(key),
  sort: async (db, keys) => {
    const files = keys.map((key) => {
      const [, tenantId, id, generation] = PREPARED_KEY.exec(key) ?? [];
      return { key, tenantId: tenantId as TenantId, id: id as AvatarId, generation: Number(generation) };
    });
    const known = new Map(
      (await knownPreparations(db, files)).map(({ id, generation, isNeeded }) => [`${id}/${generation}`, isNeeded]),
    );
    const unneeded = files.filter(({ id, generation }) => known.get(`${id}/${generation}`) !== true);
    const unknown = unneeded.filter(({ id, generation }) => !known.has(`${id}/${generation}`)).length;
    return { unused: unneeded.map(({ key }) => key), unknown };
  },
};

/** The fragments and the files of recordings. The sweep of unneeded files deletes files whose deletion is due. */
const recordingsFolder: Folder = {
  name: RECORDINGS_FOLDER,
  minAgeMs: DAY_MS,
  hasKey: (key) => RECORDING_KEY.test(key),
  sort: async (db, keys) => {
    const files = keys.map((key) => {
      const [, tenantId, sessionId, generation, n] = RECORDING_KEY.exec(key) ?? [];
      const fragment =
        generation === undefined ? { generation: null, n: null } : { generation: Number(generation), n: Number(n) };
      return { key, tenantId: tenantId as TenantId, sessionId: sessionId as SessionId, ...fragment };
    });
    const named = new Set(await namedRecordingFiles(db, files));
    const unused = keys.filter((key) => !named.has(key));
    return { unused, unknown: unused.length };
  },
};

const pendingUploads = assetFolder("uploads", ({ status }) => status === "pending_upload");
/**
 * The files of signed uploads. Each is copied when its upload is completed, so most of them are no longer needed. Their
 * rows are written first. An S3 accepts a file until its URL expires, even for a deleted asset, and no quota counts the
 * file. So such files are removed soon.
 */
const uploads: Folder = {
  ...pendingUploads,
  minAgeMs: HOUR_MS,
  sort: async (db, keys) => ({ ...(await pendingUploads.sort(db, keys)), unknown: 0 }),
};

export const FOLDERS: readonly Folder[] = [
  assetFolder("originals", () => true),
  assetFolder("public", () => true),
  uploads,
  preparedFolder,
  recordingsFolder,
];
