import { expect, test } from "bun:test";
import { join } from "node:path";
import { firstServer } from "../first/server.ts";
import { MEASURED, NOT_MEASURED } from "./operations.ts";

const METHODS = ["get", "post", "put", "patch", "delete"];

const documented = async (): Promise<string[]> => {
  const { paths } = await Bun.file(join(import.meta.dir, "../../docs/openapi.json")).json();
  return Object.entries<object>(paths).flatMap(([path, item]) =>
    Object.keys(item)
      .filter((method) => METHODS.includes(method))
      .map((method) => `${method.toUpperCase()} ${path.replace("/api/v1", "")}`),
  );
};

test("every operation of the API: compared with the first version, or listed with a reason", async () => {
  const named = [...Object.keys(MEASURED), ...Object.keys(NOT_MEASURED)];
  expect(named.toSorted()).toEqual((await documented()).toSorted());
});

test("the server of the first version: has every measured operation", () => {
  const { routes } = firstServer("postgres://localhost/never-used", "/never-used", "http://never-used");
  const has = new Set(
    routes.map(({ method, path }) => `${method} ${path.replace("/api/v1", "").replace(":id", "{id}")}`),
  );
  expect(Object.keys(MEASURED).filter((operation) => !has.has(operation))).toEqual([]);
});
