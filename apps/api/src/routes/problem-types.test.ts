import { describe, expect, test } from "bun:test";
import { PROBLEMS, type ProblemCode } from "@realtime-avatar/domain/problem";
import { createTestApp, readAnswer } from "../../test/support/api.ts";

const app = createTestApp({ deadlineMs: 1000 } as Parameters<typeof createTestApp>[0]);
const read = async (path: string, accept = "application/json") =>
  readAnswer(await app.handle(new Request(`http://localhost${path}`, { headers: { accept } })));
const codes = Object.keys(PROBLEMS) as ProblemCode[];

describe("the type of a problem", () => {
  test.each(codes)("the page of %s, requested by a program and a browser: explains the problem", async (code) => {
    const { title, status, meaning, remedy } = PROBLEMS[code];
    const json = await read(`/problems/${code}`);
    expect(json.body).toEqual({ type: `/problems/${code}`, code, status, title, meaning, remedy });
    const html = await read(`/problems/${code}`, "text/html,application/xhtml+xml,*/*;q=0.8");
    expect(html.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(html.text).toContain(`<title>${code}</title>`);
    expect(html.text).not.toMatch(/`|undefined/);
  });

  test.each(["nope", "__proto__", "toString", "not_found%00"])("the page of %s, not a code: 404", async (code) => {
    expect(await read(`/problems/${code}`)).toMatchObject({ status: 404, body: { code: "not_found" } });
  });

  test("the page of a problem, its policy: loads nothing, cannot be framed", async () => {
    const { headers } = await read("/problems/not_found", "text/html");
    expect(headers.get("content-security-policy")).toMatch(
      /^default-src 'none'; style-src 'sha256-[^']+'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'$/,
    );
    expect(headers.get("vary")).toBe("Accept");
  });
});
