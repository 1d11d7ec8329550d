import { expect, test } from "bun:test";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { misspeltSettings, SETTINGS } from "./settings.ts";

const REPOSITORY = join(import.meta.dir, "../../../..");
const meant = (name: string, others: Record<string, string> = {}): string | null =>
  misspeltSettings({ [name]: "1", ...others })[0]?.setting ?? null;

test("the settings of this list, of docs/configuration.md and of .env.example: the same", async () => {
  const read = (path: string): Promise<string> => readFile(join(REPOSITORY, path), "utf8");
  const [table, example] = await Promise.all([read("docs/configuration.md"), read(".env.example")]);
  const all: string[] = [...SETTINGS].sort();
  expect([...table.matchAll(/^\| `([A-Z0-9_]+)`/gm)].map(([, name]) => name ?? "").sort()).toEqual(all);
  expect([...example.matchAll(/^#? ?([A-Z0-9_]+)=/gm)].map(([, name]) => name ?? "").sort()).toEqual(all);
});

test.each([
  ["PROT", "PORT"],
  ["port", "PORT"],
  ["PPORT", "PORT"],
  ["HSOT", "HOST"],
  ["WROKER", "WORKER"],
  ["DATABSE_URL", "DATABASE_URL"],
  ["DATABASE-URL", "DATABASE_URL"],
  ["DATABASEURL", "DATABASE_URL"],
  ["DATBASE_ULR", "DATABASE_URL"],
  ["DATADIR", "DATA_DIR"],
  ["LOGLEVEL", "LOG_LEVEL"],
  ["METRIC_PORT", "METRICS_PORT"],
  ["LIVEKIT_API_SECERT", "LIVEKIT_API_SECRET"],
  ["AWS_ACESS_KEY_ID", "AWS_ACCESS_KEY_ID"],
  ["OTEL_EXPORTER_OTLP_ENDPONT", "OTEL_EXPORTER_OTLP_ENDPOINT"],
])("a misspelt setting, %s: suggests %s", (name, setting) => {
  expect(meant(name)).toBe(setting);
});

test.each(
  [
    ...["PATH", "HOME", "HOSTNAME", "POST", "COST", "PORTS", "SORT", "JOB", "JOB_NAME", "WORKERS", "USER", "LOGNAME"],
    ...["DATABASE_URL_OLD", "DATABASE_URL_2", "DATABASE_HOST", "REDIS_HOST", "RAILWAY_PUBLIC_DOMAIN", "NODE_ENV"],
    ...["AWS_PROFILE", "AWS_ENDPOINT_URL_SQS", "AWS_DEFAULT_REGION", "OTEL_BLRP_SCHEDULE_DELAY", "OTEL_LOGS_EXPORTER"],
    ...[
      "SERVICE_HOST",
      "LIVEKIT_KEYS",
      "DYNO",
      "RENDER_SERVICE_ID",
      "WEB_CONCURRENCY",
      "npm_config_user_agent",
      "PGPORT",
    ],
  ].map((name) => [name]),
)("a variable of other programs, %s: ignored", (name) => {
  expect(meant(name)).toBeNull();
});

test("a similar name that is empty, whose setting is also set, or that Kubernetes has set: accepted", () => {
  expect(misspeltSettings({ PROT: "", METRIC_PORT: undefined })).toEqual([]);
  expect(meant("PROT", { PORT: "3000" })).toBeNull();
  expect(misspeltSettings({ WORKERS_PORT: "tcp://10.0.0.1:80" })).toEqual([]);
});
