/** `/api/v1/api-keys` */
import { insertApiKey } from "@realtime-avatar/db/api-keys";
import { ApiKeyWithSecret, CreateApiKey, issueApiKey, presentApiKeyWithSecret } from "@realtime-avatar/domain/api-key";
import { Elysia } from "elysia";
import type { Dependencies } from "./app.ts";
import { authentication } from "./auth.ts";
import { readBody } from "./body.ts";

export const apiKeyRoutes = (dependencies: Dependencies) => {
  const { db, clock, random } = dependencies;
  return new Elysia({ name: "api-keys", prefix: "/api/v1/api-keys" }).use(authentication(dependencies)).post(
    "",
    async ({ act, request, set, status, trace }) => {
      const body = await readBody(request, CreateApiKey);
      const { record, secret } = await act(async (caller) => {
        const now = clock();
        const { tenantId, judgedAt } = caller;
        const issued = issueApiKey(body, caller, { tenantId, judgedAt, now, random });
        const origin = { actor: caller, requestId: trace.requestId, now, random };
        return (await insertApiKey(db, issued.record, issued.secret, caller, origin)) && issued;
      });
      set.headers.location = `/api/v1/api-keys/${record.id}`;
      set.headers.etag = `"${record.version}"`;
      return status(201, presentApiKeyWithSecret(record, secret));
    },
    { scope: "api_keys:write", response: { 201: ApiKeyWithSecret } },
  );
};
