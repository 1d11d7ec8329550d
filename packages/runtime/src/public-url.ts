/** Where browsers reach the service and its files. */
import { isIP } from "node:net";
import { readVariable, type Variables } from "./config.ts";

/**
 * `PUBLIC_URL`: an https origin, or http://localhost, because browsers allow passkeys nowhere else. A relying party of
 * WebAuthn is a domain, so an address is refused. Null when it is not set.
 */
export const readPublicUrl = (variables: Variables): string | null =>
  readVariable<string | null>(
    variables,
    "PUBLIC_URL",
    null,
    "https:// and a host name, or http://localhost, without a path, such as https://avatars.example.com",
    (text) => {
      const url = /^https?:\/\/[^/?#@\s]+\/?$/.test(text) && URL.canParse(text) ? new URL(text) : null;
      const isLocal = url?.protocol === "http:" && url.hostname === "localhost";
      const isSecure = url?.protocol === "https:" && isIP(url.hostname.replace(/^\[|\]$/g, "")) === 0;
      return url && (isLocal || isSecure) ? url.origin : undefined;
    },
  );

/** `PUBLIC_ASSET_ORIGIN`: scheme, host and port of the public URLs of assets and previews. Null when it is not set. */
export const readPublicAssetOrigin = (variables: Variables): string | null =>
  readVariable<string | null>(
    variables,
    "PUBLIC_ASSET_ORIGIN",
    null,
    "an origin such as https://assets.example.com",
    (text) => (/^https?:\/\/[^/?#@\s]+$/.test(text) && URL.canParse(text) ? new URL(text).origin : undefined),
  );
