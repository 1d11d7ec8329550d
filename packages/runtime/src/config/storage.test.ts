import { describe, expect, test } from "bun:test";
import { ConfigError } from "../config.ts";
import { readStorageConfig } from "./storage.ts";

const KEYS = { AWS_ACCESS_KEY_ID: "AKIA", AWS_SECRET_ACCESS_KEY: "the-secret" };
const MALFORMED_URLS =
  "https://bucket xs3://bucket s3:// s3://b s3://Bucket s3://bucket/../x s3://bucket//a s3://user@bucket s3://bucket?a=x".split(
    " ",
  );
const s3 = (variables: Record<string, string>) =>
  readStorageConfig({ STORAGE_URL: "s3://bucket", ...KEYS, ...variables }, ".data");

describe("readStorageConfig", () => {
  test("the storage, without variables: on the disk", () => {
    const disk = { kind: "disk", directory: "/data/assets", signingSecret: null } as const;
    expect(readStorageConfig({}, "/data")).toEqual(disk);
    expect(readStorageConfig({ STORAGE_URL: "", ASSET_SIGNING_SECRET: "", AWS_REGION: "x" }, "/data")).toEqual(disk);
    const config = readStorageConfig({ ASSET_SIGNING_SECRET: "s".repeat(32) }, "/data");
    expect(config.kind === "disk" && config.signingSecret?.reveal()).toBe("s".repeat(32));
  });

  test("the storage, an S3 of Amazon: read, its secrets not printed", () => {
    const config = s3({ AWS_REGION: "eu-central-1", AWS_SESSION_TOKEN: "the-token" });
    if (config.kind !== "s3") throw new Error("not an S3");
    const { secretAccessKey, sessionToken, ...others } = config;
    expect(others).toEqual({
      kind: "s3",
      bucket: "bucket",
      prefix: "",
      region: "eu-central-1",
      endpoint: "https://s3.eu-central-1.amazonaws.com",
      accessKeyId: "AKIA",
    });
    expect([secretAccessKey.reveal(), sessionToken?.reveal()]).toEqual(["the-secret", "the-token"]);
    expect(Bun.inspect(config)).not.toMatch(/the-secret|the-token/);
  });

  test.each([
    ["s3://bucket/", ""],
    ["s3://my.bucket-1/a", "a/"],
    ["s3://bucket/a/b_c/", "a/b_c/"],
  ])("the storage, %s: its prefix", (STORAGE_URL, prefix) => {
    expect(s3({ STORAGE_URL })).toMatchObject({ prefix });
  });

  test("the storage, with two endpoints: the variable of S3 wins", () => {
    expect(s3({ AWS_ENDPOINT_URL: "http://127.0.0.1:9000/" })).toMatchObject({
      endpoint: "http://127.0.0.1:9000",
      region: "us-east-1",
    });
    const both = { AWS_ENDPOINT_URL: "http://one", AWS_ENDPOINT_URL_S3: "https://two.example.com/storage/v1/s3" };
    expect(s3(both)).toMatchObject({ endpoint: "https://two.example.com/storage/v1/s3" });
  });

  test.each<[string, Record<string, string>]>([
    ...MALFORMED_URLS.map((url): [string, Record<string, string>] => ["STORAGE_URL", { STORAGE_URL: url }]),
    ["ASSET_SIGNING_SECRET", { ASSET_SIGNING_SECRET: "s".repeat(31) }],
    ["AWS_REGION", { AWS_REGION: "a/b" }],
    ["AWS_ACCESS_KEY_ID", { AWS_ACCESS_KEY_ID: "" }],
    ["AWS_SECRET_ACCESS_KEY", { AWS_SECRET_ACCESS_KEY: "" }],
    ["AWS_SECRET_ACCESS_KEY", { AWS_SECRET_ACCESS_KEY: "two\nlines" }],
    ["AWS_SESSION_TOKEN", { AWS_SESSION_TOKEN: "a b" }],
    ["AWS_ENDPOINT_URL", { AWS_ENDPOINT_URL: "ftp://host" }],
    ["AWS_ENDPOINT_URL_S3", { AWS_ENDPOINT_URL_S3: "https://user:pass@host" }],
    ["AWS_ENDPOINT_URL_S3", { AWS_ENDPOINT_URL_S3: "https://host/?query" }],
    ["AWS_ENDPOINT_URL_S3", { AWS_ENDPOINT_URL_S3: "x-https://host" }],
  ])("the storage, %s invalid in %j: the error has its name, not its value", (name, variables) => {
    const read = () => s3(variables);
    expect(read).toThrow(ConfigError);
    expect(read).toThrow(new RegExp(`^${name} must be `));
    // The form itself has short parts such as "s3://b".
    for (const value of Object.values(variables)) if (value.length > 6) expect(read).not.toThrow(value);
  });
});
