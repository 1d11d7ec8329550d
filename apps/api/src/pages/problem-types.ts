/** `/problems/<code>`, the `type` of every problem (RFC 9457 §3.1.1): its explanation, as HTML or JSON. */
import { notFound, PROBLEMS, type ProblemCode } from "@realtime-avatar/domain/problem";
import { type Static, Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { operations } from "../http/operation.ts";
import { withRequestContext } from "../http/request-context.ts";
import { asPage, htmlPage, textHtml, wantsHtml } from "./html-page.ts";

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

/** The API representation of a problem type. */
export const presentProblemType = (code: ProblemCode): ProblemType => {
  const { status, title, meaning, remedy } = PROBLEMS[code];
  return { type: `/problems/${code}`, code, status, title, meaning, remedy };
};

const page = ({ code, status, title, meaning, remedy }: ProblemType) =>
  htmlPage({
    title: code,
    body: `<main>
<h1>${textHtml(title)}</h1>
<p><code>${code}</code>, status ${status}</p>
<h2>When</h2>
<p>${textHtml(meaning)}</p>
<h2>What you can do</h2>
<p>${textHtml(remedy)}</p>
<p>The <code>requestId</code> of the response identifies the request in the log of the service. <a href="/docs">The API</a></p>
</main>`,
  });

const OPERATIONS = operations({
  getProblemType: {
    summary: "Explain a problem",
    description:
      "Explains a problem: when it occurs, and what the caller can do. The address of this operation is the `type` of the problem. Browsers get HTML.",
    success: { status: 200, description: "The explanation of the problem.", schema: ProblemType },
    isPage: true,
  },
});

export const problemTypeRoutes = () =>
  new Elysia({ name: "problem-types", prefix: "/problems" }).use(withRequestContext).get(
    "/:code",
    ({ params, request, set }) => {
      const code = codes.find((known) => known === params.code);
      if (code === undefined) throw notFound();
      const problemType = presentProblemType(code);
      set.headers["vary"] = "Accept";
      if (!wantsHtml(request)) return problemType;
      const { html, allowed } = page(problemType);
      return asPage(html, allowed, set);
    },
    {
      detail: OPERATIONS.getProblemType,
    },
  );
