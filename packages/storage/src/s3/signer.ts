/** Signatures of an S3 (AWS Signature Version 4), path-style. */
import { AwsV4Signer } from "aws4fetch";
import type { Secret } from "../secret.ts";

export type S3Config = {
  kind: "s3";
  /** `http://` or `https://`, without a slash at the end. The bucket is the first segment of the path. */
  endpoint: string;
  region: string;
  bucket: string;
  /** In front of every key, with a slash at its end; empty for none. */
  prefix: string;
  accessKeyId: string;
  secretAccessKey: Secret;
  sessionToken: Secret | null;
};

export type Signer = {
  /** The address and the headers of a signed request. `bodySha256` is in hex, or `UNSIGNED-PAYLOAD`. */
  sign(request: {
    method: string;
    /** null: the bucket itself. */
    key: string | null;
    query: Record<string, string>;
    headers: Record<string, string>;
    bodySha256: string;
  }): Promise<{ url: URL; headers: Headers }>;
  /** A URL that carries its signature. The client must send exactly these headers. */
  presign(
    request: { method: "GET" | "PUT"; key: string; headers: Record<string, string> },
    now: Date,
    expiresAt: Date,
  ): Promise<string>;
};

export const createSigner = (config: S3Config): Signer => {
  const cache = new Map<string, ArrayBuffer>();
  const urlOf = (key: string | null, query: Record<string, string>): string => {
    const url = new URL(`${config.endpoint}/${config.bucket}${key === null ? "" : `/${config.prefix}${key}`}`);
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    return url.href;
  };
  const credentials = () => ({
    accessKeyId: config.accessKeyId,
    secretAccessKey: config.secretAccessKey.reveal(),
    ...(config.sessionToken ? { sessionToken: config.sessionToken.reveal() } : {}),
    service: "s3",
    region: config.region,
    cache,
  });
  return {
    sign: ({ method, key, query, headers, bodySha256 }) =>
      new AwsV4Signer({
        ...credentials(),
        method,
        url: urlOf(key, query),
        headers: { ...headers, "x-amz-content-sha256": bodySha256 },
      }).sign(),
    presign: async ({ method, key, headers }, now, expiresAt) => {
      // The signature has whole seconds, rounded down, so that the URL never outlives its expiry.
      const seconds = Math.floor(expiresAt.getTime() / 1000) - Math.floor(now.getTime() / 1000);
      const signer = new AwsV4Signer({
        ...credentials(),
        method,
        url: urlOf(key, { "X-Amz-Expires": String(seconds) }),
        headers,
        datetime: now.toISOString().replace(/[:-]|\.\d{3}/g, ""),
        signQuery: true,
        // Without this, neither the type nor the size is bound.
        allHeaders: true,
      });
      return (await signer.sign()).url.href;
    },
  };
};
