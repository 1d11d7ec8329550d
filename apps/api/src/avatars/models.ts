/** `/api/v1/models` */
import { listModels, ModelPage } from "@realtime-avatar/domain/avatars/models";
import { Elysia } from "elysia";
import type { Dependencies } from "../dependencies.ts";
import { authentication } from "../http/authenticate.ts";
import { operations } from "../http/operation.ts";
import { NO_PARAMETERS, readQuery } from "../http/query.ts";
import { responseText } from "../http/response.ts";

const OPERATIONS = operations({
  listModels: {
    summary: "List models",
    description:
      "Lists the models that render avatars, the default first, each with its requirements of a source. Another `modelId` is accepted, with the requirements of the default.",
    success: { status: 200, description: "All models, on one page.", schema: ModelPage },
  },
});

const MODELS = { schema: ModelPage, toText: JSON.stringify };

export const modelRoutes = (dependencies: Dependencies) => {
  const data = listModels(dependencies.config.defaultAvatarModelId);
  return new Elysia({ name: "models", prefix: "/api/v1/models" }).use(authentication(dependencies)).get(
    "",
    ({ request, set }) => {
      readQuery(request, NO_PARAMETERS);
      set.headers["content-type"] = "application/json";
      return responseText(MODELS, { data, nextCursor: null });
    },
    { scope: "avatars:read", detail: OPERATIONS.listModels },
  );
};
