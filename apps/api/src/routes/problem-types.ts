/** `/problems/<code>`, which every problem names as its type (RFC 9457 §3.1.1): what it means, for people and programs. */
import { createHash } from "node:crypto";
import { notFound, PROBLEMS, type ProblemCode } from "@realtime-avatar/domain/problem";
import { type Static, Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { asPage } from "../http/html-page.ts";
import { withRequestContext } from "../http/request-context.ts";
import { operation } from "../openapi/operation.ts";

const codes = Object.keys(PROBLEMS) as ProblemCode[];

export const ProblemType = Type.Object(
  {
    type: Type.String({ description: "The `type` of the problem." }),
    code: Type.Union(codes.map((code) => Type.Literal(code))),
    status: Type.Integer({ minimum: 400, maximum: 599 }),
    title: Type.String(),
    meaning: Type.String({ description: "When the problem occurs." }),
    remedy: Type.String({ description: "What the caller can do." }),
  },
  { additionalProperties: false },
);
export type ProblemType = Static<typeof ProblemType>;

/** What is there to know of a problem. */
export const presentProblemType = (code: ProblemCode): ProblemType => {
  const { status, title, meaning, remedy } = PROBLEMS[code];
  return { type: `/problems/${code}`, code, status, title, meaning, remedy };
};

const STYLE =
  ":root{color-scheme:light dark}body{font:1rem/1.5 system-ui,sans-serif;max-width:40rem;margin:3rem auto;padding:0 1rem}";
const ALLOWED = `style-src 'sha256-${createHash("sha256").update(STYLE).digest("base64")}'`;

/** Words of ours: there is nothing to escape but what stands between backquotes. */
const words = (text: string): string =>
  text
    .replace(/[&<>]/g, (character) => `&#${character.charCodeAt(0)};`)
    .replace(/`([^`]+)`/g, (_, code: string) => `<code>${code}</code>`);

const page = ({ code, status, title, meaning, remedy }: ProblemType): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${code}</title>
<style>${STYLE}</style>
</head>
<body>
<h1>${words(title)}</h1>
<p><code>${code}</code>, status ${status}</p>
<h2>When</h2>
<p>${words(meaning)}</p>
<h2>What you can do</h2>
<p>${words(remedy)}</p>
<p>The <code>requestId</code> of the answer identifies the request in the log of the service. <a href="/docs">The API</a></p>
</body>
</html>
`;

/** Whether who asks wants to read: a browser asks for HTML by name, a program for JSON or for anything. */
const wantsHtml = (accept: string): boolean => /text\/html/i.test(accept) && !/json/i.test(accept);

export const problemTypeRoutes = () =>
  new Elysia({ name: "problem-types", prefix: "/problems" }).use(withRequestContext).get(
    "/:code",
    ({ params: { code: asked }, request, set }) => {
      const code = codes.find((known) => known === asked);
      if (code === undefined) throw notFound();
      const found = presentProblemType(code);
      set.headers["vary"] = "Accept";
      if (!wantsHtml(request.headers.get("accept") ?? "")) return found;
      return asPage(page(found), ALLOWED, set);
    },
    {
      detail: operation({
        operationId: "getProblemType",
        summary: "Explain a problem",
        description:
          "Explains a problem: when it occurs and what the caller can do. Its address is the `type` of the problem. Browsers get HTML.",
        success: { status: 200, description: "The explanation of the problem.", schema: ProblemType },
        isPage: true,
      }),
    },
  );
