/** Where files are kept, from the variables of the service and those of Amazon's own tools. */
import { join } from "node:path";
import type { StorageConfig } from "@realtime-avatar/storage/open";
import { Secret } from "@realtime-avatar/storage/secret";
import { readSecret, readVariable, refuse, type Variables } from "../config.ts";

/** A bucket and the prefix of its keys, whose segments are those of our keys. */
const STORAGE_URL = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])((?:\/[A-Za-z0-9_-]+)*)\/?$/;

const readText = (variables: Variables, name: string): string | null =>
  readVariable<string | null>(variables, name, null, "text without spaces", (text) =>
    /^[\x21-\x7e]+$/.test(text) ? text : undefined,
  );

const readEndpoint = (variables: Variables, name: string): string | null =>
  readVariable<string | null>(
    variables,
    name,
    null,
    "an http:// or https:// URL without credentials or query",
    (text) =>
      /^https?:\/\/[^\s/?#@]+(\/[^\s?#]*)?$/.test(text) && URL.canParse(text) ? text.replace(/\/+$/, "") : undefined,
  );

/** A variable without which an S3 cannot be used. */
const readRequired = (variables: Variables, name: string): string => {
  if (!variables[name]) refuse(variables, name, "set when STORAGE_URL is set");
  return readText(variables, name) ?? "";
};

/**
 * The store of files: the S3 of `STORAGE_URL`, or else the folder `assets` of the data directory. Throws a
 * `ConfigError` that names an invalid variable.
 */
export const readStorageConfig = (variables: Variables, dataDirectory: string): StorageConfig => {
  const location = readVariable<{ bucket: string; prefix: string } | null>(
    variables,
    "STORAGE_URL",
    null,
    "s3://bucket or s3://bucket/prefix",
    (text) => {
      const [, bucket, prefix = ""] = STORAGE_URL.exec(text) ?? [];
      return bucket === undefined ? undefined : { bucket, prefix: prefix === "" ? "" : `${prefix.slice(1)}/` };
    },
  );
  const signingSecret = readSecret(variables, "ASSET_SIGNING_SECRET");
  if (location === null) return { kind: "disk", directory: join(dataDirectory, "assets"), signingSecret };
  const region = readVariable(variables, "AWS_REGION", "us-east-1", "the name of a region", (text) =>
    /^[a-z0-9-]{1,64}$/.test(text) ? text : undefined,
  );
  const sessionToken = readText(variables, "AWS_SESSION_TOKEN");
  const endpoint = readEndpoint(variables, "AWS_ENDPOINT_URL_S3") ?? readEndpoint(variables, "AWS_ENDPOINT_URL");
  return {
    kind: "s3",
    ...location,
    region,
    endpoint: endpoint ?? `https://s3.${region}.amazonaws.com`,
    accessKeyId: readRequired(variables, "AWS_ACCESS_KEY_ID"),
    secretAccessKey: new Secret(readRequired(variables, "AWS_SECRET_ACCESS_KEY")),
    sessionToken: sessionToken === null ? null : new Secret(sessionToken),
  };
};
