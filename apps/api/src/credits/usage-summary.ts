/** `/api/v1/usage/summary` */
import { sumUsageSessions } from "@realtime-avatar/db/credits/list-usage-sessions";
import { MAX_SESSIONS_OF_SUMMARY, USAGE_SUMMARY, UsageSummaryPage } from "@realtime-avatar/domain/credits/schemas";
import { readSummaryPage } from "@realtime-avatar/domain/credits/session-list";
import { pageText } from "@realtime-avatar/domain/page";
import { Elysia } from "elysia";
import type { Dependencies } from "../dependencies.ts";
import { authentication } from "../http/authenticate.ts";
import { operations } from "../http/operation.ts";
import { readQuery } from "../http/query.ts";

const OPERATIONS = operations({
  getUsageSummary: {
    summary: "Sum up usage",
    description: `Returns sums over usage sessions by day and by key or avatar, for charts, newest day first. A session counts for the day of its creation, in UTC. A page adds up at most ${MAX_SESSIONS_OF_SUMMARY} sessions: the next page can continue the same day. Add its sums to those of this page. Only the first page has \`conversations\`, the usage of conversations on each day.`,
    query: USAGE_SUMMARY.query,
    success: { status: 200, description: "A page of sums.", schema: UsageSummaryPage },
  },
});

export const usageSummaryRoutes = (dependencies: Dependencies) => {
  const { clock, responseBytes } = dependencies;
  return new Elysia({ name: "usage-summary", prefix: "/api/v1/usage/summary" }).use(authentication(dependencies)).get(
    "",
    async ({ caller, db, request, set }) => {
      const page = readSummaryPage(readQuery(request, USAGE_SUMMARY.query), clock());
      const { from, to } = page.filters;
      const { conversations, ...sums } = await sumUsageSessions(db, caller, page);
      const text = pageText(USAGE_SUMMARY, page, sums, { from, to, conversations });
      return responseBytes.send(text, caller.tenantId, request, set);
    },
    { scope: "usage:read", detail: OPERATIONS.getUsageSummary },
  );
};
