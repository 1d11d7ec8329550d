/** The quota of assets, which the API and the worker share: a rendered video counts as an upload does. */
import { readInteger, type Variables } from "../config.ts";

/** The quota of a tenant in one environment. Failed and deleted assets do not count. */
export type AssetQuota = { maxAssets: number; maxBytes: number };

/** The maximum quota: an exact double, above any size that a tenant can reach. */
const MAX_ASSET_BYTES = 10 ** 15 - 1;

export const readAssetQuota = (variables: Variables): AssetQuota => ({
  maxAssets: readInteger(variables, "MAX_ASSETS_PER_TENANT", 10_000, [1, 1_000_000]),
  maxBytes: readInteger(variables, "MAX_ASSET_BYTES_PER_TENANT", 20 * 1024 ** 3, [1, MAX_ASSET_BYTES]),
});
