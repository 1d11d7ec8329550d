import { type DiskConfig, openDisk } from "./disk/disk.ts";
import { openS3 } from "./s3/s3.ts";
import type { S3Config } from "./s3/signer.ts";
import type { Storage } from "./storage.ts";

/** Where files are kept. `readStorageConfig` of the runtime reads it from the environment. */
export type StorageConfig = DiskConfig | S3Config;

export type StorageContext = {
  /** The origin of the service, such as `https://api.example.com`: signed URLs of the disk begin with it. */
  origin: () => string;
  now?: () => Date;
};

/** Opens the store. The caller closes it. */
export const openStorage = async (
  config: StorageConfig,
  { origin, now = () => new Date() }: StorageContext,
): Promise<Storage> => (config.kind === "disk" ? openDisk(config, { origin, now }) : openS3(config, now));
